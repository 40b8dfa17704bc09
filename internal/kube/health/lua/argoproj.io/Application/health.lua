-- Source: Argo CD, Application API and controller/appcontroller.go (autoSync,
-- alreadyAttemptedSync): status.health is that of what was applied last, whatever
-- the spec says since; status.sync.comparedTo is the spec it was compared with,
-- status.operationState the last sync. Healthy therefore means: compared with this
-- spec, no automated sync to come, and healthy.
local metadata = obj.metadata or {}
local status = obj.status or {}
local spec = obj.spec or {}
local sync = status.sync or {}
local op = status.operationState or {}

if status.health == nil or status.health.status == nil or status.health.status == "" then
  return {status = "Progressing", message = "has no health yet"}
end
if obj.operation ~= nil then
  return {status = "Progressing", message = "a sync is requested"}
end
if op.phase == "Running" then
  return {status = "Progressing", message = "operation running: " .. (op.message or "")}
end
if op.phase == "Terminating" then
  return {status = "Progressing", message = "operation terminating: " .. (op.message or "")}
end

-- Until it is compared after a sync, the health is that of before, and Healthy for
-- an Application whose kinds have no check. Times are of whole seconds: within one,
-- what is out of sync is taken for a comparison of before.
if op.phase == "Succeeded" and op.finishedAt ~= nil then
  local compared = status.reconciledAt or ""
  if compared < op.finishedAt or compared == op.finishedAt and sync.status == "OutOfSync" then
    return {status = "Progressing", message = "is not compared since its sync"}
  end
end

-- The controller writes sources without fields that say nothing: what is not
-- there, false, 0 and empty are the same.
local function same(a, b)
  if type(a) ~= "table" and type(b) ~= "table" then
    local function value(v)
      if v ~= false and v ~= "" and v ~= 0 then
        return v
      end
    end
    return value(a) == value(b)
  end
  if a ~= nil and type(a) ~= "table" or b ~= nil and type(b) ~= "table" then
    return false
  end
  for k, v in pairs(a or {}) do
    if not same(v, (b or {})[k]) then
      return false
    end
  end
  for k, v in pairs(b or {}) do
    if (a or {})[k] == nil and not same(nil, v) then
      return false
    end
  end
  return true
end

local several = spec.sources ~= nil and #spec.sources > 0
local function of_spec(written)
  if several then
    return same(spec.sources, written.sources)
  end
  return spec.source == nil or same(spec.source, written.source)
end

if sync.comparedTo ~= nil and not of_spec(sync.comparedTo) then
  return {status = "Progressing", message = "its spec has changed and is not compared yet"}
end

-- An automated sync follows a comparison, once for a revision and a spec. Where
-- revisions count only if they touch some paths, they say nothing here.
local automated = spec.syncPolicy ~= nil and spec.syncPolicy.automated
if automated and automated.enabled ~= false and sync.status == "OutOfSync" then
  local attempted = op.phase ~= nil
  local result = op.syncResult
  if result ~= nil then
    attempted = of_spec(result)
    if (metadata.annotations or {})["argocd.argoproj.io/manifest-generate-paths"] == nil then
      attempted = attempted and same(several and sync.revisions or sync.revision, several and result.revisions or result.revision)
    end
  end
  local prunes = not automated.prune and #(status.resources or {}) > 0
  for _, resource in ipairs(status.resources or {}) do
    prunes = prunes and (resource.status == "Synced" or resource.requiresPruning == true)
  end
  if not attempted and not prunes then
    for _, c in ipairs(status.conditions or {}) do
      if c.type == "SyncError" then
        return {status = "Degraded", message = c.message or "cannot be synced"}
      end
    end
    return {status = "Progressing", message = "is not synced to the revision it was compared with"}
  end
end
if (op.phase == "Failed" or op.phase == "Error") and sync.status ~= "Synced" then
  return {status = "Degraded", message = "sync failed: " .. (op.message or "")}
end
return {status = status.health.status, message = status.health.message or ""}
