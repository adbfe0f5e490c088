// The scripts beside the work: sweeping, counting, listing.

extension Script {
    // ARGV: now, crashes, unleased in milliseconds, death before which is forgotten, results kept, code,
    // class, words.
    static let sweepText = #"""
        local reclaimed, buried, repaired = 0, 0, 0
        for _, id in ipairs(call('ZRANGEBYSCORE', K'running', '-inf', N(now), 'LIMIT', 0, 1000)) do
          local r = call('HMGET', J(id), 'priority', 'entry', 'tries', 'key', 'due', 'state')
          if r[6] == 'running' then
            local p = tonumber(r[1])
            if tonumber(r[3]) >= tonumber(ARGV[2]) then
              bury(id, r[4], ARGV[6], ARGV[7], ARGV[8] .. ' ' .. r[3] .. ' (QueueRules.crashes)', tonumber(ARGV[5]))
              buried = buried + 1
            else
              push(id, p, tonumber(r[5]))
              reclaimed = reclaimed + 1
            end
            call('HDEL', J(id), 'worker')
            drop(p, r[2])
          end
          call('ZREM', K'running', id)
        end
        -- What was handed out and is held by nobody: its body is gone (trimmed by hand), or its place is taken.
        for p = 0, 2 do
          group(p)
          local from = '-'
          while true do
            local held = call('XPENDING', S(p), 'workers', 'IDLE', ARGV[3], from, '+', 100)
            for _, one in ipairs(held) do
              local entry = one[1]
              local e = call('XRANGE', S(p), entry, entry)[1]
              local f = e and pairsOf(e[2]) or {}
              local id = f.id
              if f.job then
                local ok, job = pcall(cjson.decode, f.job)
                id = ok and type(job) == 'table' and job.id or entry
                if type(id) == 'number' then id = N(id) end
                if type(id) ~= 'string' or id == '' then id = entry end
              end
              local r = id and call('HMGET', J(id), 'entry', 'state') or {}
              if f.job and not r[2] then
                call('XADD', S(p), '*', 'job', f.job)
                repaired = repaired + 1
                drop(p, entry)
              elseif not r[2] then
                call('HINCRBY', K'counts', 'bodyless', 1)
                drop(p, entry)
              elseif r[1] ~= entry then
                drop(p, entry)
              end
              from = '(' .. entry
            end
            if #held < 100 then break end
          end
          -- A consumer that holds nothing and was not seen for a day; one that holds something never.
          for _, c in ipairs(call('XINFO', 'CONSUMERS', S(p), 'workers')) do
            local m = pairsOf(c)
            if m['pending'] == 0 and m['idle'] > 86400000 then
              call('XGROUP', 'DELCONSUMER', S(p), 'workers', m['name'])
            end
          end
        end
        -- A thousand keys each time, so that in the end every job was looked at: whether it has what its state needs.
        local scan = call('SCAN', call('GET', K'scan') or '0', 'MATCH', P .. ':job:*', 'COUNT', 1000)
        call('SET', K'scan', scan[1])
        for _, key in ipairs(scan[2]) do
          local id = string.sub(key, #P + 6)
          local r = call('HMGET', key, 'state', 'entry', 'priority', 'due')
          local p = tonumber(r[3] or 2)
          if r[1] == 'waiting' and (r[2] == '' or #call('XRANGE', S(p), r[2], r[2]) == 0)
            or r[1] == 'running' and not call('ZSCORE', K'running', id)
            or (r[1] == 'delayed' or r[1] == 'parked' or r[1] == 'dead') and not call('ZSCORE', K(r[1]), id) then
            push(id, p, tonumber(r[4] or now))
            drop(p, r[2])
            repaired = repaired + 1
          end
        end
        for _, id in ipairs(call('ZRANGEBYSCORE', K'dead', '-inf', '(' .. ARGV[4], 'LIMIT', 0, 1000)) do
          forget(id, call('HGET', J(id), 'key'))
          call('ZREM', K'dead', id)
        end
        return {reclaimed, buried, repaired}
        """#

    static let statsText = #"""
        local out = {}
        for p = 0, 2 do
          local _, pending = reached(p)
          local at = oldest(p)
          out[#out + 1] = call('XLEN', S(p)) - pending
          out[#out + 1] = at and math.max(0, now - at) or 0
        end
        local overdue = call('ZCOUNT', K'delayed', '-inf', N(now))
        out[#out + 1] = call('ZCARD', K'delayed') - overdue
        out[#out + 1] = overdue
        for _, name in ipairs({'running', 'dead', 'parked'}) do out[#out + 1] = call('ZCARD', K(name)) end
        out[#out + 1] = tonumber(call('HGET', K'counts', 'done') or '0')
        out[#out + 1] = call('EXISTS', K'paused')
        out[#out + 1] = call('SMEMBERS', K'paused-hosts')
        return out
        """#

    // ARGV: now, state, place, count; or now, 'one', id. Returns now, the next place, and the fields of each
    // job.
    static let pageText = #"""
        local FIELDS = {'state', 'priority', 'host', 'tries', 'added', 'due', 'key', 'worker', 'code', 'class',
          'message', 'ended', 'job'}
        local out = {N(now), ''}
        local function tell(id)
          local r = call('HMGET', J(id), unpack(FIELDS))
          if not r[1] then return end
          -- One that is due is about to be given its place.
          if r[1] == 'delayed' and tonumber(r[6]) <= now then r[1] = 'waiting' end
          out[#out + 1] = id
          for i = 1, #FIELDS do out[#out + 1] = r[i] or '' end
          out[#out + 1] = call('ZSCORE', K'running', id) or ''
        end
        local function tellRaw(p, entry, text)
          local ok, job = pcall(cjson.decode, text)
          if not ok or type(job) ~= 'table' then job = {} end
          local at = N(millis(entry))
          local key, id = job.key, job.id
          if type(key) == 'number' then key = N(key) end
          if type(id) == 'number' then id = N(id) end
          for _, v in ipairs({type(id) == 'string' and id or entry, 'waiting', p, hostOf(job.url or ''), 0, at, at,
            type(key) == 'string' and key or '', '', '', '', '', '', text, ''}) do out[#out + 1] = v end
        end
        if ARGV[2] == 'one' then
          tell(ARGV[3])
          if #out == 2 and string.find(ARGV[3], '^%d+%-%d+$') then
            for p = 0, 2 do
              local e = call('XRANGE', S(p), ARGV[3], ARGV[3])[1]
              local f = e and pairsOf(e[2]) or {}
              if f.job then tellRaw(p, e[1], f.job) end
            end
          end
          return out
        end
        local count = tonumber(ARGV[4])
        if ARGV[2] == 'waiting' then
          local p, from = string.match(ARGV[3], '^(%d) (.*)$')
          p = tonumber(p or 0)
          while p < 3 do
            from = from or reached(p)
            local list = call('XRANGE', S(p), '(' .. from, '+', 'COUNT', count)
            for _, e in ipairs(list) do
              local f = pairsOf(e[2])
              if f.job then tellRaw(p, e[1], f.job) elseif f.id then tell(f.id) end
            end
            if #list == count then
              out[2] = p .. ' ' .. list[#list][1]
              return out
            end
            p, from = p + 1, nil
            if #out > 2 and p < 3 then
              out[2] = p .. ' ' .. (reached(p))
              return out
            end
          end
          for _, id in ipairs(call('ZRANGEBYSCORE', K'delayed', '-inf', N(now))) do tell(id) end
          return out
        end
        local place = tonumber(ARGV[3]) or 0
        local list
        if ARGV[2] == 'delayed' then
          list = call('ZRANGEBYSCORE', K'delayed', '(' .. N(now), '+inf', 'LIMIT', place, count)
        else
          list = call('ZRANGE', K(ARGV[2]), place, place + count - 1)
        end
        for _, id in ipairs(list) do tell(id) end
        if #list == count then out[2] = N(place + count) end
        return out
        """#

    // ARGV: now, then ids.
    static let replayText = #"""
        local count = 0
        for i = 2, #ARGV do
          local r = call('HMGET', J(ARGV[i]), 'state', 'priority')
          if r[1] == 'dead' then
            call('HSET', J(ARGV[i]), 'tries', 0)
            push(ARGV[i], tonumber(r[2]), now)
            call('HDEL', J(ARGV[i]), 'ended')
            call('ZREM', K'dead', ARGV[i])
            count = count + 1
          end
        end
        return count
        """#

    static let purgeText = #"""
        local count = 0
        for i = 2, #ARGV do
          local id = ARGV[i]
          local r = call('HMGET', J(id), 'state', 'priority', 'entry', 'key')
          if r[1] and r[1] ~= 'running' then
            for _, name in ipairs({'delayed', 'dead', 'parked'}) do call('ZREM', K(name), id) end
            drop(tonumber(r[2]), r[3])
            forget(id, r[4])
            count = count + 1
          elseif not r[1] and string.find(id, '^%d+%-%d+$') then
            -- Written by XADD and not looked at yet: its id is that of its entry.
            for p = 0, 2 do count = count + call('XDEL', S(p), id) end
          end
        end
        return count
        """#

    // ARGV: now, pause or resume, host or nothing.
    static let pauseText = #"""
        local host = ARGV[3]
        if ARGV[2] == 'pause' then
          if host == '' then call('SET', K'paused', N(now)) else call('SADD', K'paused-hosts', host) end
        elseif host == '' then
          call('DEL', K'paused')
        else
          call('SREM', K'paused-hosts', host)
          for _, id in ipairs(call('ZRANGE', K'parked', 0, -1)) do
            local r = call('HMGET', J(id), 'host', 'priority', 'due')
            if r[1] == host or not r[1] then
              if r[1] then push(id, tonumber(r[2]), tonumber(r[3])) end
              call('ZREM', K'parked', id)
            end
          end
        end
        return 1
        """#
}
