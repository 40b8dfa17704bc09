-- Source: kro.run documentation, ResourceGraphDefinition status: the condition Ready sums up the others.
local hs = {status = "Progressing", message = "waiting for the status of the ResourceGraphDefinition"}
if obj.status == nil or obj.status.conditions == nil then
  return hs
end
for _, c in ipairs(obj.status.conditions) do
  if c.type == "Ready" then
    if c.status == "True" then
      return {status = "Healthy", message = c.message or ""}
    end
    hs.message = c.message or c.reason or "is not Ready"
  end
end
return hs
