-- Source: CloudNativePG documentation, "Declarative Database Management":
-- status.applied is true once the database is reconciled, status.message says
-- why it is not.
if obj.status == nil or obj.status.applied == nil then
  return {status = "Progressing", message = "waiting for the status of the database"}
end
if obj.status.applied then
  return {status = "Healthy", message = ""}
end
return {status = "Degraded", message = obj.status.message or "is not applied"}
