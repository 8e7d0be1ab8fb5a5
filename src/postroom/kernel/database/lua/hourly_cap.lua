-- What one person was sent in the last hour. All times are microseconds.
-- KEYS[1] log: sorted set, notification -> when it was made
-- ARGV[1] operation, ARGV[2] notification, then what the operation needs

local log = KEYS[1]
local operations = {}

-- now, length of an hour, cap; answers whether one more fits
function operations.take()
  local now, hour, cap = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
  redis.call('ZREMRANGEBYSCORE', log, '-inf', string.format('%.0f', now - hour))
  if redis.call('ZSCORE', log, ARGV[2]) then return { 1 } end -- asked again because the first answer got lost
  if redis.call('ZCARD', log) >= cap then return { 0 } end
  redis.call('ZADD', log, string.format('%.0f', now), ARGV[2])
  redis.call('PEXPIRE', log, string.format('%.0f', hour / 1000))
  return { 1 }
end

function operations.give_back()
  redis.call('ZREM', log, ARGV[2])
  return {}
end

return operations[ARGV[1]]()
