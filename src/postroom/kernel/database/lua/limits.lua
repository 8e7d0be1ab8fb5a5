-- Admission limits and pacing: each call is one atomic step. All times are microseconds.
-- KEYS[1] leases:    sorted set, lease -> its end
-- KEYS[2] throttles: hash, channel -> "its end, its length"
-- KEYS[3...]         buckets: theoretical arrival time; or the one moment reserved last
-- the last key where a sender's share counts: hash, sender who was refused -> until when they are taken to wait
-- ARGV[1] operation, ARGV[2] now ('' asks the server's clock), then what the operation needs

local leases, throttles = KEYS[1], KEYS[2]

-- Keys outlive their meaning by this much, because they are judged by `now` and not by their expiry.
local SLACK_US = 60000000

-- Lua's own conversion rounds to 14 digits; a time in microseconds has 16.
local function exact(number)
  return string.format('%.0f', number)
end

local function milliseconds(us)
  return exact(math.ceil((us + SLACK_US) / 1000))
end

local function clock(given)
  if given ~= '' then return tonumber(given) end
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000000 + tonumber(time[2])
end

local now = clock(ARGV[2])

local function number_at(key)
  return tonumber(redis.call('GET', key) or '0')
end

local function keep(key, value, until_us)
  redis.call('SET', key, exact(value), 'PX', milliseconds(math.max(0, until_us - now)))
end

local function arrival_at(key, latest)
  local arrival = number_at(key)
  if arrival <= latest then return arrival end
  keep(key, latest, latest) -- the clock was set back
  return latest
end

local function put_throttle(channel, length)
  redis.call('HSET', throttles, channel, exact(now + length) .. ' ' .. exact(length))
end

local function throttled(channel)
  local found = redis.call('HGET', throttles, channel)
  if not found then return 0 end
  local ends, length = string.match(found, '^(%d+) (%d+)$')
  ends, length = tonumber(ends), tonumber(length)
  if ends <= now then
    redis.call('HDEL', throttles, channel)
    return 0
  end
  if ends - now > length then put_throttle(channel, length) end -- the clock was set back
  return math.min(ends - now, length)
end

local function in_flight(lease_us)
  local latest = exact(now + lease_us)
  for _, lease in ipairs(redis.call('ZRANGEBYSCORE', leases, '(' .. latest, '+inf')) do
    redis.call('ZADD', leases, latest, lease) -- the clock was set back
  end
  redis.call('ZREMRANGEBYSCORE', leases, '-inf', exact(now))
  return redis.call('ZCARD', leases)
end

local operations = {}

local function another_waits(waiting, sender, longest)
  local found = redis.call('HGETALL', waiting)
  for n = 1, #found, 2 do
    local ends = tonumber(found[n + 1])
    if found[n] ~= sender and ends > now and ends <= now + longest then return true end
  end
  return false
end

local function wait_in(waiting, sender, longest)
  local found = redis.call('HGETALL', waiting)
  for n = 1, #found, 2 do
    if tonumber(found[n + 1]) <= now then redis.call('HDEL', waiting, found[n]) end
  end
  redis.call('HSET', waiting, sender, exact(now + longest))
  redis.call('PEXPIRE', waiting, milliseconds(longest))
end

-- channel, lease, most in flight, hint, lease length, consume, shared, sender, reserve, longest wait;
-- per bucket, a share's the last: latest, capacity, cost
-- answers now, in flight; waits of provider, in flight, each bucket but the share's; arrival of each bucket
function operations.admit()
  local channel, lease, most, hint = ARGV[3], ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6])
  local lease_us, consume, shared = tonumber(ARGV[7]), ARGV[8] == '1', ARGV[9] == '1'
  local sender, reserve, longest = ARGV[10], tonumber(ARGV[11]), tonumber(ARGV[12])
  local buckets, waiting = #KEYS - 2 - (shared and 1 or 0), KEYS[#KEYS]
  local flying = in_flight(lease_us)
  local full = most > 0 and flying >= most and not redis.call('ZSCORE', leases, lease)
  local waits, arrivals, after = { throttled(channel), full and hint or 0 }, {}, {}
  for n = 1, buckets do
    local latest, capacity, cost = tonumber(ARGV[10 + 3 * n]), tonumber(ARGV[11 + 3 * n]), tonumber(ARGV[12 + 3 * n])
    arrivals[n] = arrival_at(KEYS[n + 2], now + latest)
    after[n] = math.max(arrivals[n], now) + cost
    waits[n + 2] = after[n] - now - capacity
  end
  if shared then -- the last wait is the recipient's now
    local own = table.remove(waits)
    if own <= 0 then
      waits[#waits] = waits[#waits] - reserve
    elseif another_waits(waiting, sender, longest) then
      waits[#waits] = math.max(waits[#waits], own)
    end
    if consume and waits[#waits] > 0 then wait_in(waiting, sender, longest) end
  end
  local admitted = true
  for _, wait in ipairs(waits) do admitted = admitted and wait <= 0 end
  if consume and admitted then
    arrivals = after
    for n, arrival in ipairs(after) do keep(KEYS[n + 2], arrival, arrival) end
    if lease ~= '' then
      redis.call('ZADD', leases, exact(now + lease_us), lease)
      redis.call('PEXPIRE', leases, milliseconds(lease_us))
      flying = redis.call('ZCARD', leases)
    end
  end
  local answer = { now, flying }
  for _, wait in ipairs(waits) do answer[#answer + 1] = wait end
  for _, arrival in ipairs(arrivals) do answer[#answer + 1] = arrival end
  return answer
end

-- any number of leases
function operations.release()
  for n = 3, #ARGV do redis.call('ZREM', leases, ARGV[n]) end
  return {}
end

-- lease; per bucket: latest, cost
function operations.refund()
  local ends = tonumber(redis.call('ZSCORE', leases, ARGV[3]) or '0')
  redis.call('ZREM', leases, ARGV[3])
  if ends <= now then return {} end
  for n = 1, (#ARGV - 3) / 2 do
    local latest, cost = tonumber(ARGV[2 + 2 * n]), tonumber(ARGV[3 + 2 * n])
    local arrival = arrival_at(KEYS[n + 2], now + latest) - cost
    keep(KEYS[n + 2], arrival, arrival)
  end
  return {}
end

-- channel, length, longest
function operations.throttle()
  local channel, length = ARGV[3], tonumber(ARGV[4])
  if length > throttled(channel) then
    put_throttle(channel, length)
    redis.call('PEXPIRE', throttles, milliseconds(tonumber(ARGV[5])))
  end
  return {}
end

function operations.throttles()
  local answer = {}
  for _, channel in ipairs(redis.call('HKEYS', throttles)) do
    local left = throttled(channel)
    if left > 0 then
      answer[#answer + 1] = channel
      answer[#answer + 1] = left
    end
  end
  return answer
end

-- channel, interval
function operations.reserve()
  local wait, interval = throttled(ARGV[3]), tonumber(ARGV[4])
  if wait > 0 then return { wait } end
  local last = number_at(KEYS[3])
  wait = math.min(last, now) + interval - now
  if wait <= 0 or last > now then keep(KEYS[3], now, now + interval) end -- last > now: the clock was set back
  return { math.max(0, wait) }
end

return operations[ARGV[1]]()
