-- Source: Argo CD, ApplicationSet API. The script that Argo CD ships reads the
-- conditions alone, which say that a rollout has completed before the first
-- Application is there. A wave behind an ApplicationSet must wait for its
-- Applications.
local status = obj.status or {}
local function condition(kind)
  for _, c in ipairs(status.conditions or {}) do
    if c.type == kind then
      return c
    end
  end
  return {}
end

local failed, made = condition("ErrorOccurred"), condition("ResourcesUpToDate")
if failed.status == "True" then
  return {status = "Degraded", message = failed.message or ""}
end
if made.status == "False" then
  return {status = "Degraded", message = made.message or ""}
end
if made.status ~= "True" then
  return {status = "Progressing", message = "waiting for the status of the ApplicationSet"}
end

local resources = status.resources or {}
local count = status.resourcesCount or #resources
local strategy = obj.spec ~= nil and obj.spec.strategy or {}
if strategy.type == "RollingSync" then
  local rolling = condition("RolloutProgressing")
  if rolling.status == "True" then
    return {status = "Progressing", message = rolling.message or ""}
  end
  local healthy = 0
  for _, app in ipairs(status.applicationStatus or {}) do
    if app.status ~= "Healthy" then
      return {status = "Progressing", message = app.application .. ": " .. (app.message or app.status or "")}
    end
    healthy = healthy + 1
  end
  if healthy < count then
    return {status = "Progressing", message = healthy .. " of " .. count .. " Applications are rolled out"}
  end
  -- Right after its Applications were made the status has none of them. Whether
  -- there are any the annotation of a generated set says.
  local annotations = obj.metadata ~= nil and obj.metadata.annotations or {}
  if healthy == 0 and annotations["ladder.rollout-ladder.dev/applications"] == "some" then
    return {status = "Progressing", message = "no Application has a status yet"}
  end
  return {status = "Healthy", message = ""}
end
for _, app in ipairs(resources) do
  local health = app.health or {}
  if health.status ~= "Healthy" then
    return {status = health.status == "Degraded" and "Degraded" or "Progressing", message = app.name .. ": " .. (health.status or "no health yet")}
  end
  if app.status ~= nil and app.status ~= "Synced" then
    return {status = "Progressing", message = app.name .. ": " .. app.status}
  end
end
return {status = "Healthy", message = ""}
