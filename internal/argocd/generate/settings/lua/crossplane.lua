-- Source: Crossplane, "Managed Resources", "Composite Resources", "Claims" and
-- "Functions": Synced and LastAsyncOperation say whether a resource was reconciled,
-- Ready whether it works, Established whether a definition is served, Healthy
-- whether a package runs.
local hs = {status = "Progressing", message = "waiting for the status of the " .. obj.kind}
if obj.status == nil or obj.status.conditions == nil then
  return hs
end
for _, c in ipairs(obj.status.conditions) do
  if (c.type == "Synced" or c.type == "LastAsyncOperation") and c.status == "False" then
    return {status = "Degraded", message = c.message or c.reason or "is not Synced"}
  end
end
for _, c in ipairs(obj.status.conditions) do
  if c.type == "Ready" or c.type == "Established" or c.type == "Healthy" then
    if c.status == "True" then
      return {status = "Healthy", message = c.message or ""}
    end
    hs.message = c.message or c.reason or "is not " .. c.type
  end
end
return hs
