-- Source: Velero documentation, "Backup Storage Location": status.phase is
-- Available or Unavailable.
if obj.status == nil or obj.status.phase == nil then
  return {status = "Progressing", message = "waiting for the first validation"}
end
if obj.status.phase == "Available" then
  return {status = "Healthy", message = ""}
end
return {status = "Degraded", message = obj.status.message or obj.status.phase}
