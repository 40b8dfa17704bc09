-- Source: CloudNativePG API reference, PoolerStatus: status.instances is the
-- number of pods that are scheduled.
if obj.status == nil or obj.status.instances == nil then
  return {status = "Progressing", message = "waiting for the status of the pooler"}
end
local want = obj.spec.instances or 1
if obj.status.instances >= want then
  return {status = "Healthy", message = ""}
end
return {status = "Progressing", message = obj.status.instances .. " of " .. want .. " instances"}
