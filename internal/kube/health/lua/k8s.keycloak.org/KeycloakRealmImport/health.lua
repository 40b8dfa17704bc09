-- Source: Keycloak operator guide, "Automating a realm import": conditions Done,
-- Started and HasErrors of the KeycloakRealmImport status.
if obj.status == nil or obj.status.conditions == nil then
  return {status = "Progressing", message = "waiting for the status of the realm import"}
end
local hs = {status = "Progressing", message = "the realm is not imported yet"}
for _, c in ipairs(obj.status.conditions) do
  if c.type == "HasErrors" and c.status == "True" then
    return {status = "Degraded", message = c.message or "the import has errors"}
  end
  if c.type == "Done" then
    if c.status == "True" then
      hs = {status = "Healthy", message = c.message or ""}
    elseif c.message ~= nil and c.message ~= "" then
      hs.message = c.message
    end
  end
end
return hs
