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
        for i = 3, #ARGV, 7 do
          local id, kind, wait = ARGV[i], ARGV[i + 2], tonumber(ARGV[i + 3])
          local r = call('HMGET', J(id), 'token', 'state', 'priority', 'entry', 'key', 'due')
          if r[1] ~= ARGV[i + 1] or r[2] ~= 'running' then
            refused[#refused + 1] = (i - 3) / 7
          else
            local p = tonumber(r[3])
            if kind == 'done' then
              announce(id, r[5], 'ok', ARGV[i + 6], kept)
              forget(id, r[5])
              done = done + 1
            elseif kind == 'dead' then
              bury(id, r[5], ARGV[i + 4], ARGV[i + 5], ARGV[i + 6], kept)
            else
              if kind == 'retry' then
                call('HSET', J(id), 'code', ARGV[i + 4], 'class', ARGV[i + 5], 'message', ARGV[i + 6])
              else
                call('HINCRBY', J(id), 'tries', -1)
              end
              if kind == 'back' and wait <= 0 then
                push(id, p, tonumber(r[6]))
              else
                call('HSET', J(id), 'state', 'delayed', 'entry', '', 'due', N(now + wait))
                call('ZADD', K'delayed', N(now + wait), id)
              end
            end
            call('HDEL', J(id), 'worker')
            call('ZREM', K'running', id)
            drop(p, r[4])
          end
        end
        if done > 0 then call('HINCRBY', K'counts', 'done', done) end
        return refused
        """#
}
