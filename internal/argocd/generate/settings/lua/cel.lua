-- What CEL means by its operators, as far as Lua means something else: a missing
-- field is an error, which && and || and the macros forget where the other side
-- decides.
local function get(o, key)
  if type(o) ~= "table" then error("no such key") end
  if type(key) == "number" then key = key + 1 end
  if o[key] == nil then error("no such key") end
  return o[key]
end
local function has(o, key)
  if type(o) ~= "table" then error("no such key") end
  return o[key] ~= nil
end
local function equal(a, b)
  if type(a) ~= "table" or type(b) ~= "table" then return a == b end
  for k, v in pairs(a) do if not equal(v, b[k]) then return false end end
  for k in pairs(b) do if a[k] == nil then return false end end
  return true
end
local function boolean(a)
  if type(a) ~= "boolean" then error("no such overload") end
  return a
end
local function truth(f)
  local ok, value = pcall(f)
  if ok and type(value) == "boolean" then return value end
  return nil
end
local function both(f, g)
  local a = truth(f)
  if a == false then return false end
  local b = truth(g)
  if b == false then return false end
  if a == nil or b == nil then error("no value") end
  return true
end
local function either(f, g)
  return not both(function() return not boolean(f()) end, function() return not boolean(g()) end)
end
local function elements(list)
  if type(list) ~= "table" then error("no list") end
  if #list > 0 then return list end
  local keys = {}
  for k in pairs(list) do keys[#keys + 1] = k end
  return keys
end
local function all(list, f)
  local unknown = false
  for _, item in ipairs(elements(list)) do
    local value = truth(function() return f(item) end)
    if value == false then return false end
    unknown = unknown or value == nil
  end
  if unknown then error("no value") end
  return true
end
local function exists(list, f)
  return not all(list, function(item) return not boolean(f(item)) end)
end
local function within(item, list)
  for _, other in ipairs(elements(list)) do if equal(item, other) then return true end end
  return false
end
local function size(o)
  if type(o) == "string" then return #o end
  return #elements(o)
end
local function add(a, b)
  if type(a) == "string" and type(b) == "string" then return a .. b end
  if type(a) ~= "number" or type(b) ~= "number" then error("no such overload") end
  return a + b
end
local function number(a)
  if type(a) ~= "number" then error("no such overload") end
  return a
end
local function holds(f) return truth(f) == true end
