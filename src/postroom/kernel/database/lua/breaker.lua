-- A circuit breaker, the transitions of domain/breaker.py in one atomic step. All times are microseconds.
-- KEYS[1] the circuit: hash of its fields, and a field "probe:<token>" -> end of its lease for each probe
-- ARGV[1] operation, ARGV[2] now ('' asks the server's clock), ARGV[3..7] the policy: failures to open,
-- recovery, probes, successes to close, probe lease; then what the operation needs
-- answers now, allowed, wait, state, failures, successes, opened at, generation, reason, error class, and
-- token, end of each probe

local threshold, recovery, most = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local enough, lease = tonumber(ARGV[6]), tonumber(ARGV[7])
local PROBE = 'probe:'

-- Lua's own conversion rounds to 14 digits; a time in microseconds has 16.
local function exact(number)
  return string.format('%.0f', number)
end

local function clock(given)
  if given ~= '' then return tonumber(given) end
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000000 + tonumber(time[2])
end

local now = clock(ARGV[2])

local function new(generation)
  return {
    state = 'closed', failures = 0, successes = 0, opened = 0,
    generation = generation, reason = '', class = '', probes = {},
  }
end

local function read()
  local circuit, fields = new(0), redis.call('HGETALL', KEYS[1])
  for n = 1, #fields, 2 do
    local name, value = fields[n], fields[n + 1]
    if string.sub(name, 1, #PROBE) == PROBE then
      circuit.probes[string.sub(name, #PROBE + 1)] = tonumber(value)
    elseif type(circuit[name]) == 'number' then
      circuit[name] = tonumber(value)
    else
      circuit[name] = value
    end
  end
  return circuit
end

local function write(circuit)
  redis.call('DEL', KEYS[1])
  redis.call('HSET', KEYS[1], 'state', circuit.state, 'failures', exact(circuit.failures),
    'successes', exact(circuit.successes), 'opened', exact(circuit.opened),
    'generation', exact(circuit.generation), 'reason', circuit.reason, 'class', circuit.class)
  for token, ends in pairs(circuit.probes) do redis.call('HSET', KEYS[1], PROBE .. token, exact(ends)) end
end

local function answer(circuit, allowed, wait)
  local told = { now, allowed and 1 or 0, wait or 0, circuit.state, circuit.failures, circuit.successes,
    circuit.opened, circuit.generation, circuit.reason, circuit.class }
  for token, ends in pairs(circuit.probes) do
    told[#told + 1] = token
    told[#told + 1] = ends
  end
  return told
end

-- Moments that this clock cannot have produced were written before it was set back; they count from now.
local function believe(circuit)
  local changed = circuit.opened > now
  circuit.opened = math.min(circuit.opened, now)
  for token, ends in pairs(circuit.probes) do
    if ends > now + lease then
      circuit.probes[token] = now + lease
      changed = true
    end
  end
  return changed
end

local function prune(circuit)
  local alive, earliest = 0, nil
  for token, ends in pairs(circuit.probes) do
    if ends <= now then
      circuit.probes[token] = nil
    else
      alive = alive + 1
      earliest = math.min(earliest or ends, ends)
    end
  end
  return alive, earliest
end

local function turn(circuit, state)
  circuit.state, circuit.successes, circuit.probes = state, 0, {}
  circuit.generation = circuit.generation + 1
end

local operations = {}

-- token
function operations.acquire(circuit)
  local changed = believe(circuit)
  if circuit.state == 'open' and circuit.opened + recovery <= now then turn(circuit, 'half-open') end
  if circuit.state ~= 'half-open' then
    if changed then write(circuit) end
    local allowed = circuit.state == 'closed'
    return answer(circuit, allowed, allowed and 0 or circuit.opened + recovery - now)
  end
  local alive, earliest = prune(circuit)
  local allowed = alive < most
  if allowed then circuit.probes[ARGV[8]] = now + lease end
  write(circuit)
  return answer(circuit, allowed, allowed and 0 or earliest - now)
end

local function succeed(circuit)
  if circuit.state == 'closed' then return new(circuit.generation) end
  circuit.successes = circuit.successes + 1
  return circuit.successes < enough and circuit or new(circuit.generation + 1)
end

local function fail(circuit, reason, class)
  circuit.failures, circuit.reason, circuit.class = circuit.failures + 1, reason, class
  if circuit.state == 'half-open' or circuit.failures >= threshold then
    turn(circuit, 'open')
    circuit.opened = now
  end
  return circuit
end

-- token, generation, result, reason, error class
function operations.report(circuit)
  local token, result = ARGV[8], ARGV[10]
  local counts = circuit.state == 'closed' or circuit.probes[token] ~= nil
  if not counts or tonumber(ARGV[9]) ~= circuit.generation then return answer(circuit) end
  if circuit.state == 'closed' and circuit.failures == 0 and result ~= 'failure' then return answer(circuit) end
  circuit.probes[token] = nil
  if result == 'success' then circuit = succeed(circuit) end
  if result == 'failure' then circuit = fail(circuit, ARGV[11], ARGV[12]) end
  write(circuit)
  return answer(circuit)
end

function operations.circuit(circuit)
  return answer(circuit)
end

-- state, failures, successes, opened at, generation, reason, error class, and token, end of each probe
function operations.restore(known)
  local circuit = new(tonumber(ARGV[12]))
  if circuit.generation <= known.generation then return answer(known) end
  circuit.state, circuit.failures, circuit.successes = ARGV[8], tonumber(ARGV[9]), tonumber(ARGV[10])
  circuit.opened, circuit.reason, circuit.class = tonumber(ARGV[11]), ARGV[13], ARGV[14]
  for n = 15, #ARGV, 2 do circuit.probes[ARGV[n]] = tonumber(ARGV[n + 1]) end
  write(circuit)
  return answer(circuit)
end

return operations[ARGV[1]](read())
