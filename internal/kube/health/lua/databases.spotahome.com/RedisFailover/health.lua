-- Source: spotahome/redis-operator, api/redisfailover/v1: the kind has no status
-- subresource; the operator makes a StatefulSet rfr-<name> and a Deployment
-- rfs-<name>, which the engine looks at instead. A fork that sets conditions or
-- status.state (freshworks) is taken at its word.
local hs = {status = "Progressing", message = "waiting for its workloads"}
if obj.status == nil then
  return hs
end
if obj.status.state == "Healthy" then
  return {status = "Healthy", message = ""}
elseif obj.status.state ~= nil then
  hs.message = obj.status.message or obj.status.state
end
if obj.status.conditions ~= nil then
  for _, c in ipairs(obj.status.conditions) do
    if c.type == "Ready" then
      if c.status == "True" then
        return {status = "Healthy", message = c.message or ""}
      end
      hs.message = c.message or c.reason or "is not Ready"
    end
  end
end
return hs
