-- Source: nats-io/nack, docs/api.md: the controller sets the condition Ready.
local hs = {status = "Progressing", message = "waiting for the status of the " .. obj.kind}
if obj.status == nil or obj.status.conditions == nil then
  return hs
end
for _, c in ipairs(obj.status.conditions) do
  if c.type == "Ready" then
    if c.status == "True" then
      return {status = "Healthy", message = c.message or ""}
    end
    hs.message = c.message or c.reason or "is not Ready"
    if c.reason == "Errored" then
      hs.status = "Degraded"
    end
  end
end
return hs
