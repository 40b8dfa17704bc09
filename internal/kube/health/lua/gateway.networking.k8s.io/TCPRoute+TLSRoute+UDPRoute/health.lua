-- Source: Gateway API specification, RouteParentStatus: every parent accepts the
-- route and resolves its references. The kind is like HTTPRoute, which Argo CD
-- ships.
if obj.status == nil or obj.status.parents == nil or #obj.status.parents == 0 then
  return {status = "Progressing", message = "waiting for a parent to accept the route"}
end
for _, parent in ipairs(obj.status.parents) do
  for _, c in ipairs(parent.conditions or {}) do
    if (c.type == "Accepted" or c.type == "ResolvedRefs") and c.status == "False" then
      return {status = "Degraded", message = c.message or c.reason}
    end
  end
end
return {status = "Healthy", message = ""}
