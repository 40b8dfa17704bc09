-- A status must be about what was applied last: that of an older generation says
-- nothing of it. Source: Kubernetes API conventions, metadata.generation and
-- observedGeneration.
do
  local generation = obj.metadata ~= nil and obj.metadata.generation or 0
  local observed = obj.status ~= nil and obj.status.observedGeneration or 0
  if observed == 0 and obj.status ~= nil and obj.status.conditions ~= nil then
    for _, c in ipairs(obj.status.conditions) do
      if c.observedGeneration ~= nil and c.observedGeneration > observed then
        observed = c.observedGeneration
      end
    end
  end
  if observed > 0 and observed < generation then
    return {
      status = "Progressing",
      message = "waiting for the status of generation " .. generation .. "; it is still of generation " .. observed
    }
  end
end
