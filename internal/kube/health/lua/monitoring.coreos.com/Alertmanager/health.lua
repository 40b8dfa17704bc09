-- Source: prometheus-operator API reference, AlertmanagerStatus: the condition Available.
local hs = {status = "Progressing", message = "waiting for the status of the Alertmanager"}
if obj.status == nil or obj.status.conditions == nil then
  return hs
end
for _, c in ipairs(obj.status.conditions) do
  if c.type == "Available" then
    if c.status == "True" then
      return {status = "Healthy", message = c.message or ""}
    end
    hs.message = c.message or c.reason or "is not Available"
    if c.status == "Degraded" then
      hs.status = "Degraded"
    end
  end
end
return hs
