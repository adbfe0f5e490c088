// What a holder says about its jobs.

extension Script {
    // ARGV: now, lease in milliseconds, then id and token for each. Returns the places of those that are
    // lost.
    static let extendText = #"""
        local expires = N(now + tonumber(ARGV[2]))
        local lost = {}
        for i = 3, #ARGV, 2 do
          local r = call('HMGET', J(ARGV[i]), 'token', 'state')
          if r[1] == ARGV[i + 1] and r[2] == 'running' then
            call('ZADD', K'running', expires, ARGV[i])
          else
            lost[#lost + 1] = (i - 3) / 2
          end
        end
        return lost
        """#

    // ARGV: now, results kept, then id, token, kind, wait, code, class, words for each. Returns the refused.
    static let settleText = #"""
        local kept = tonumber(ARGV[2])
        local refused, done = {}, 0
        -- What is taken away goes at the end, many at a time.
        local gone, keys, ids, places, seen = {}, {}, {}, {[0] = {}, {}, {}}, {}
        for i = 3, #ARGV, 7 do
          local id, kind, wait = ARGV[i], ARGV[i + 2], tonumber(ARGV[i + 3])
          local job = J(id)
          local r = call('HMGET', job, 'token', 'state', 'priority', 'entry', 'key', 'due')
          if r[1] ~= ARGV[i + 1] or r[2] ~= 'running' or seen[id] then
            refused[#refused + 1] = (i - 3) / 7
          else
            local p = tonumber(r[3])
            if kind == 'done' then
              announce(id, r[5], 'ok', ARGV[i + 6], kept)
              if r[5] ~= '' then keys[#keys + 1] = r[5] end
              gone[#gone + 1] = job
              done = done + 1
              seen[id] = true
            elseif kind == 'dead' then
              bury(id, r[5], ARGV[i + 4], ARGV[i + 5], ARGV[i + 6], kept)
            else
              if kind == 'retry' then
                call('HSET', job, 'code', ARGV[i + 4], 'class', ARGV[i + 5], 'message', ARGV[i + 6])
              else
                call('HINCRBY', job, 'tries', -1)
              end
              if kind == 'back' and wait <= 0 then
                push(id, p, tonumber(r[6]))
              else
                call('HSET', job, 'state', 'delayed', 'entry', '', 'due', N(now + wait))
                call('ZADD', K'delayed', N(now + wait), id)
              end
            end
            if kind ~= 'done' then call('HDEL', job, 'worker') end
            ids[#ids + 1] = id
            if r[4] ~= '' then places[p][#places[p] + 1] = r[4] end
          end
        end
        many({'DEL'}, gone)
        many({'HDEL', K'keys'}, keys)
        many({'ZREM', K'running'}, ids)
        for p = 0, 2 do
          many({'XACK', S(p), 'workers'}, places[p])
          many({'XDEL', S(p)}, places[p])
        end
        if done > 0 then call('HINCRBY', K'counts', 'done', done) end
        return refused
        """#
}
