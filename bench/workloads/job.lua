-- SPDX-License-Identifier: Apache-2.0
-- A job of many kinds of work: building and taking apart strings, sorting, patterns, closures,
-- recursion and garbage. No coroutines: those leave C functions by longjmp, which not every
-- recorder that is compared follows. usage: lua job.lua ROUNDS
local rounds = tonumber(arg[1]) or 5
local seed = 1

local function random(limit)
  seed = (seed * 1103515245 + 12345) % 2147483648
  return seed % limit + 1
end

local syllables = { "ka", "to", "mi", "re", "sol", "ba", "nu", "vi", "dra", "pel" }

local function word()
  local parts = {}
  for i = 1, 2 + random(3) do
    parts[i] = syllables[random(#syllables)]
  end
  return table.concat(parts)
end

local function text_of(count)
  local lines = {}
  for i = 1, count do
    lines[i] = string.format("%s=%d;%s", word(), random(1000), word():upper())
  end
  return table.concat(lines, "\n")
end

local function permutations(items, count, visit)
  if count == 0 then return visit(items) end
  for i = 1, count do
    items[i], items[count] = items[count], items[i]
    permutations(items, count - 1, visit)
    items[i], items[count] = items[count], items[i]
  end
end

local function ackermann(m, n)
  if m == 0 then return n + 1 end
  if n == 0 then return ackermann(m - 1, 1) end
  return ackermann(m - 1, ackermann(m, n - 1))
end

local function numbers(limit)
  local i = 0
  return function()
    i = i + 1
    if i <= limit then return i end
  end
end

local sum = 0
for _ = 1, rounds do
  local text = text_of(2000)
  local found, order = {}, {}
  for name, number, upper in text:gmatch("(%l+)=(%d+);(%u+)") do
    if not found[name] then order[#order + 1] = name end
    found[name] = (found[name] or 0) + tonumber(number) + #upper
  end
  table.sort(order, function(a, b)
    if found[a] ~= found[b] then return found[a] > found[b] end
    return a < b
  end)
  sum = sum + found[order[1]] + #text:gsub("%d+", function(digits) return "<" .. digits .. ">" end)
  permutations({ 1, 2, 3, 4, 5, 6, 7 }, 7, function(items) sum = sum + items[1] end)
  sum = sum + ackermann(2, 60)
  for i in numbers(3000) do sum = sum + i end
end
print(sum)
