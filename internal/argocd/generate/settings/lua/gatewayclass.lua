-- Source: Gateway API specification, GatewayClassConditionType: Accepted says
-- whether a controller takes the class.
for _, c in ipairs(obj.status ~= nil and obj.status.conditions or {}) do
  if c.type == "Accepted" and c.status == "True" then
    return {status = "Healthy", message = c.message or ""}
  end
  if c.type == "Accepted" and c.status == "False" then
    return {status = "Degraded", message = c.message or c.reason or "is not accepted"}
  end
end
do
  return {status = "Progressing", message = "waiting for a controller to accept the class"}
end
