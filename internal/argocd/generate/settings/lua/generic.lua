-- Source: kstatus, "Conditions": Reconciling and Stalled speak of what is not
-- normal, Ready of the whole.
for _, c in ipairs(obj.status ~= nil and obj.status.conditions or {}) do
  if c.type == "Stalled" and c.status == "True" then
    return {status = "Degraded", message = c.message or c.reason or "is stalled"}
  end
  if c.type == "Reconciling" and c.status == "True" then
    return {status = "Progressing", message = c.message or c.reason or "is reconciling"}
  end
  if c.type == "Ready" and c.status ~= "True" then
    return {status = "Progressing", message = c.message or c.reason or "is not Ready"}
  end
end
do
  return {status = "Healthy", message = ""}
end
