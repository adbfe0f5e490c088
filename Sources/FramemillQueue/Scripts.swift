// What Redis runs for us: one Lua script for each step, so that each is atomic, and all of it or nothing is
// in the append-only file and on replicas ("scripts are propagated as MULTI/EXEC").
//
// Numbers go out by `%.0f`: Lua's own `..` rounds to 14 digits.

enum Script: String, CaseIterable {
    case add, hand, extend, settle, sweep, stats, page, replay, purge, pause

    var text: String {
        switch self {
        case .add: Self.head + Self.addText
        case .hand: Self.head + Self.handText
        case .extend: Self.head + Self.extendText
        case .settle: Self.head + Self.settleText
        case .sweep: Self.head + Self.sweepText
        case .stats: Self.head + Self.statsText
        case .page: Self.head + Self.pageText
        case .replay: Self.head + Self.replayText
        case .purge: Self.head + Self.purgeText
        case .pause: Self.head + Self.pauseText
        }
    }

    /// KEYS[1] is the prefix, ARGV[1] the time in milliseconds, or -1 for the server's own.
    private static let head = #"""
        local call = redis.call
        local P = KEYS[1]
        local NAMES = {[0] = 'interactive', 'prefetch', 'backfill'}
        local function K(name) return P .. ':' .. name end
        local function S(p) return P .. ':' .. NAMES[p] end
        local function J(id) return P .. ':job:' .. id end
        local function N(x) return string.format('%.0f', x) end
        local now = tonumber(ARGV[1])
        if now < 0 then
          local t = call('TIME')
          now = tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
        end
        -- Gives a job a place in the stream of its priority.
        local function push(id, p, due)
          local entry = call('XADD', S(p), '*', 'id', id, 'at', N(due))
          call('HSET', J(id), 'state', 'waiting', 'entry', entry, 'due', N(due))
        end
        -- Takes a place away: acknowledged, and out of the stream.
        local function drop(p, entry)
          if entry and entry ~= '' then
            call('XACK', S(p), 'workers', entry)
            call('XDEL', S(p), entry)
          end
        end
        local function forget(id, key)
          if key and key ~= '' then call('HDEL', K'keys', key) end
          call('DEL', J(id))
        end
        -- One call for many words, in parts: Lua hands over some thousand at a time.
        local function many(words, list)
          for i = 1, #list, 1000 do
            local part = {unpack(words)}
            for j = i, math.min(i + 999, #list) do part[#part + 1] = list[j] end
            call(unpack(part))
          end
        end
        local function group(p) redis.pcall('XGROUP', 'CREATE', S(p), 'workers', '0', 'MKSTREAM') end
        local function pairsOf(list)
          local map = {}
          if type(list) == 'table' then
            for i = 1, #list - 1, 2 do map[list[i]] = list[i + 1] end
          end
          return map
        end
        -- The last entry that was handed out, and how many are handed out and not acknowledged.
        local function reached(p)
          local groups = redis.pcall('XINFO', 'GROUPS', S(p))
          if groups.err then return '0-0', 0 end
          for _, g in ipairs(groups) do
            local m = pairsOf(g)
            if m['name'] == 'workers' then return m['last-delivered-id'], m['pending'] end
          end
          return '0-0', 0
        end
        local function millis(entry) return tonumber(string.match(entry, '^%d+')) end
        -- Since when the first in line has waited; nil where none does.
        local function oldest(p)
          local first = call('XRANGE', S(p), '(' .. (reached(p)), '+', 'COUNT', 1)[1]
          if not first then return nil end
          return tonumber(pairsOf(first[2])['at'] or millis(first[1]))
        end
        -- As Job.host.
        local function hostOf(url)
          local authority = string.match(tostring(url), '^[^:]*://([^/?#]*)') or ''
          authority = string.match(authority, '([^@]*)$')
          local host = string.match(authority, '^(%[[^%]]*%])') or string.match(authority, '^([^:]*)')
          return string.lower(host)
        end
        local function announce(id, key, code, words, kept)
          if kept > 0 then
            call('XADD', K'results', 'MAXLEN', '~', kept, '*', 'id', id, 'key', key or '', 'code', code,
              'result', words)
          end
        end
        local function bury(id, key, code, class, words, kept)
          call('HSET', J(id), 'state', 'dead', 'ended', N(now), 'code', code, 'class', class, 'message', words,
            'entry', '')
          call('ZADD', K'dead', N(now), id)
          announce(id, key, code, words, kept)
        end

        """#

    // ARGV: now, depth, then id, key, priority, not-before, host, job for each.
    private static let addText = #"""
        local waiting = call('ZCARD', K'delayed')
        for p = 0, 2 do
          local _, pending = reached(p)
          waiting = waiting + call('XLEN', S(p)) - pending
        end
        local more = (#ARGV - 2) / 6
        if waiting + more > tonumber(ARGV[2]) then return waiting end
        local out, stamp = {}, N(now)
        for i = 3, #ARGV, 6 do
          local id, key, p, after, host, job = ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2]), tonumber(ARGV[i + 3]),
            ARGV[i + 4], ARGV[i + 5]
          local holder = key ~= '' and call('HGET', K'keys', key) or false
          if holder and call('EXISTS', J(holder)) == 0 then holder = false end
          if call('EXISTS', J(id)) == 1 then holder = id end
          if holder then
            out[#out + 1] = holder
          else
            if key ~= '' then call('HSET', K'keys', key, id) end
            local due, state, entry = N(math.max(now, after)), 'delayed', ''
            if after > now then
              call('ZADD', K'delayed', due, id)
            else
              state, entry = 'waiting', call('XADD', S(p), '*', 'id', id, 'at', due)
            end
            call('HSET', J(id), 'job', job, 'key', key, 'priority', p, 'host', host, 'tries', 0, 'token', 0,
              'added', stamp, 'due', due, 'state', state, 'entry', entry)
            out[#out + 1] = ''
          end
        end
        return out
        """#

    // ARGV: now, count, worker, lease in milliseconds, ageing in milliseconds, how many are for interactive jobs alone.
    private static let handText = #"""
        if call('EXISTS', K'paused') == 1 then return {} end
        local want = tonumber(ARGV[2])
        for _, id in ipairs(call('ZRANGEBYSCORE', K'delayed', '-inf', N(now), 'LIMIT', 0, want * 2)) do
          local r = call('HMGET', J(id), 'priority', 'due')
          if r[1] then push(id, tonumber(r[1]), tonumber(r[2])) end
          call('ZREM', K'delayed', id)
        end
        local parks = call('SCARD', K'paused-hosts') > 0
        local token = tonumber(call('GET', K'token') or '0')
        -- A queue that was emptied by hand must not give old tokens out again.
        if token == 0 then token = now * 1000 end
        local turn = tonumber(call('GET', K'turn') or '0')
        local expires = N(now + tonumber(ARGV[4]))
        local out, leases = {}, {}
        -- What a producer wrote by XADD gets its record now. False: it is not to be handed out, or not now.
        local function adopt(p, entry, text)
          local ok, job = pcall(cjson.decode, text)
          if not ok or type(job) ~= 'table' then job = {} end
          local function word(v)
            if type(v) == 'number' then return N(v) end
            return type(v) == 'string' and v or ''
          end
          local id, key = word(job.id), word(job.key)
          if id == '' then id = entry end
          local old = call('HMGET', J(id), 'entry', 'state')
          -- The group was made anew, and shows what somebody holds.
          if old[1] == entry then return old[2] == 'waiting' and id end
          local holder = key ~= '' and call('HGET', K'keys', key)
          if old[2] or (holder and call('EXISTS', J(holder)) == 1) then
            drop(p, entry)
            call('HINCRBY', K'counts', 'duplicate', 1)
            return false
          end
          if key ~= '' then call('HSET', K'keys', key, id) end
          local after = job['not-before']
          -- A time that no job may name is none: whoever takes the job finds it wrong, and it is buried at once.
          after = type(after) == 'number' and after >= 0 and after <= 1e11 and after * 1000 or 0
          local due = math.max(millis(entry), after)
          call('HSET', J(id), 'job', text, 'key', key, 'priority', p, 'host', hostOf(job.url or ''), 'tries', 0,
            'token', 0, 'added', N(millis(entry)), 'due', N(due), 'state', 'waiting', 'entry', entry)
          if after > now then
            call('HSET', J(id), 'state', 'delayed', 'entry', '')
            call('ZADD', K'delayed', N(due), id)
            drop(p, entry)
            return false
          end
          return id
        end
        local function hand(p, entry, fields)
          local f = pairsOf(fields)
          local id = f.id
          if f.job then id = adopt(p, entry, f.job) end
          if id == false then return false end
          local r = id and call('HMGET', J(id), 'job', 'tries', 'state', 'entry', 'host', 'added', 'due') or {}
          if not r[1] then
            drop(p, entry)
            call('HINCRBY', K'counts', 'bodyless', 1)
            return false
          end
          if r[4] ~= entry then
            drop(p, entry)
            return false
          end
          if r[3] ~= 'waiting' then return false end
          if parks and call('SISMEMBER', K'paused-hosts', r[5]) == 1 then
            call('HSET', J(id), 'state', 'parked', 'entry', '')
            call('ZADD', K'parked', r[7], id)
            drop(p, entry)
            return false
          end
          token = token + 1
          local tries, t, n = tonumber(r[2]) + 1, N(token), #out
          call('HSET', J(id), 'state', 'running', 'token', t, 'worker', ARGV[3], 'tries', tries)
          leases[#leases + 1] = expires
          leases[#leases + 1] = id
          out[n + 1], out[n + 2], out[n + 3], out[n + 4], out[n + 5], out[n + 6] = id, t, tries, r[6], p, r[1]
          return true
        end
        local function take(p, count)
          while count > 0 do
            local r = redis.pcall('XREADGROUP', 'GROUP', 'workers', ARGV[3], 'COUNT', count, 'STREAMS', S(p), '>')
            if r and r.err then
              if not string.find(r.err, 'NOGROUP') then return r end
              group(p)
            elseif not r then
              return
            else
              for _, e in ipairs(r[1][2]) do
                if hand(p, e[1], e[2]) then count = count - 1 end
              end
            end
          end
        end
        local common = math.max(0, want - tonumber(ARGV[6]))
        local aged = math.min(common, math.floor((turn + want) / 4) - math.floor(turn / 4))
        if aged > 0 then
          local pick, since
          for p = 1, 2 do
            local at = oldest(p)
            if at and now - at > tonumber(ARGV[5]) and (not since or at < since) then pick, since = p, at end
          end
          if pick then
            local problem = take(pick, aged)
            if problem then return problem end
          end
        end
        local problem = take(0, want - #out / 6)
        if problem then return problem end
        -- Of what was handed out so far; the aged ones, which came first, are none of them.
        local hurried = 0
        for n = 5, #out, 6 do if out[n] == 0 then hurried = hurried + 1 end end
        for p = 1, 2 do
          local given = #out / 6
          problem = take(p, math.min(want - given, common - (given - hurried)))
          if problem then return problem end
        end
        if #out > 0 then
          many({'ZADD', K'running'}, leases)
          call('SET', K'token', N(token))
          call('SET', K'turn', N(turn + #out / 6))
        end
        return out
        """#
}
