-- Source: alexandrevilain/temporal-operator, api/v1beta1: the condition Ready is set once the schedule exists.
local hs = {status = "Progressing", message = "waiting for the status of the TemporalSchedule"}
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
