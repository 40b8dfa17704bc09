-- Source: Kubernetes, apiextensions.k8s.io/v1, CustomResourceDefinitionStatus: a
-- kind is served once its definition is Established; before that nothing is wrong,
-- unless its names or its schema are refused.
local conditions = {}
for _, c in ipairs(obj.status ~= nil and obj.status.conditions or {}) do
  conditions[c.type] = c
end
local names, schema, established = conditions.NamesAccepted or {}, conditions.NonStructuralSchema or {}, conditions.Established or {}
if names.status == "False" then
  return {status = "Degraded", message = "names are not accepted: " .. (names.message or "")}
end
if schema.status == "True" then
  return {status = "Degraded", message = "schema is not structural: " .. (schema.message or "")}
end
if established.status == "True" then
  return {status = "Healthy", message = ""}
end
if established.reason == "InvalidCABundle" then
  return {status = "Degraded", message = established.message or ""}
end
return {status = "Progressing", message = "is not established yet"}
