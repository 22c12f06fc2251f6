extension RedisScript {
    /// Functions for all scripts. `run()` returns the server's identity, which a replica does not
    /// inherit; it is empty on a replica, including a primary that became a replica. `present()`
    /// returns the current epoch if this server began it. The scripts check this themselves,
    /// because a new connection may reach a different server.
    private static let common = """
        local function run()
          local info = redis.call('INFO', 'server', 'replication')
          return string.find(info, 'role:master', 1, true) and string.match(info, 'run_id:(%x+)') or ''
        end
        local function now()
          local t = redis.call('TIME')
          return string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000))
        end
        local function present()
          local m = redis.call('HMGET', KEYS[2], 'epoch', 'run', 'name')
          if m[1] and m[2] == run() and redis.call('EXISTS', KEYS[1]) == 1 then return m[1], m[3] end
        end

        """

    /// Begins an epoch, unless the server's own epoch is current. Epoch numbers are compared as
    /// text, because Lua's numbers are exact only up to 2^53.
    ///
    /// KEYS: log, epoch. ARGV: candidate, its name, the highest known epoch.
    static let begin = RedisScript(
        common + """
            local function less(a, b) if #a ~= #b then return #a < #b end return a < b end
            local m = redis.call('HMGET', KEYS[2], 'epoch', 'run', 'name')
            local last = ''
            if redis.call('EXISTS', KEYS[1]) == 1 then
              local info = redis.call('XINFO', 'STREAM', KEYS[1])
              for i = 1, #info, 2 do if info[i] == 'last-generated-id' then last = info[i + 1] end end
            end
            if last == '0-0' then last = '' end
            local logged = string.match(last, '^(%d+)-') or '0'
            if m[1] and m[2] == run() and m[1] == logged and not less(m[1], ARGV[3]) then
              return {'OK', m[1], m[3]}
            end
            local highest = ARGV[3]
            if m[1] and less(highest, m[1]) then highest = m[1] end
            if less(highest, logged) then highest = logged end
            if not less(highest, ARGV[1]) then return {'LOW', highest} end
            redis.call('XADD', KEYS[1], ARGV[1] .. '-1', 'm', ARGV[2], 'i', last, 't', now())
            redis.call('HSET', KEYS[2], 'epoch', ARGV[1], 'run', run(), 'name', ARGV[2])
            return {'OK', ARGV[1], ARGV[2]}
            """
    )

    /// Returns the current epoch and the entry at a cursor.
    ///
    /// KEYS: log, epoch. ARGV: cursor.
    static let peek = RedisScript(
        common + """
            local epoch, name = present()
            return {epoch or '', name or '', redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1])}
            """
    )

    /// Appends entries. If the server stops accepting entries midway, the accepted entries stay in
    /// the log.
    ///
    /// KEYS: log, epoch, names of the purges. ARGV: epoch, seconds for which the names are kept,
    /// entries.
    static let append = RedisScript(
        common + """
            if present() ~= ARGV[1] then return {'EPOCH'} end
            local time = now()
            local reply = {'OK'}
            for i = 3, #KEYS do
              local known = redis.call('GET', KEYS[i])
              if known and string.match(known, '^%d+-%d+$') and #redis.call('XRANGE', KEYS[1], known, known) > 0 then
                reply[#reply + 1] = known
              else
                local id = redis.pcall('XADD', KEYS[1], ARGV[1] .. '-*', 'p', ARGV[i], 't', time)
                if type(id) ~= 'string' then
                  if #reply > 1 then return reply end
                  if string.find(id.err, 'equal or smaller', 1, true) then return {'EPOCH'} end
                  return id
                end
                redis.call('SET', KEYS[i], id, 'EX', ARGV[2])
                reply[#reply + 1] = id
              end
            end
            return reply
            """
    )

    /// Writes a node's row with the server's time.
    ///
    /// KEYS: log, epoch, nodes. ARGV: epoch, identity, row.
    static let announce = RedisScript(
        common + """
            if present() ~= ARGV[1] then return {'EPOCH'} end
            redis.call('HSET', KEYS[3], ARGV[2], ARGV[3] .. ' ' .. now())
            return {'OK'}
            """
    )

    /// Replaces rows that match the expected rows.
    ///
    /// KEYS: log, epoch, nodes. ARGV: epoch; then for each row: identity, the expected row, the new
    /// row.
    static let amend = RedisScript(
        common + """
            if present() ~= ARGV[1] then return {'EPOCH'} end
            for i = 2, #ARGV, 3 do
              local row = redis.call('HMGET', KEYS[3], ARGV[i])[1] or ''
              if row == ARGV[i + 1] then redis.call('HSET', KEYS[3], ARGV[i], ARGV[i + 2]) end
            end
            return {'OK'}
            """
    )

    /// Makes a write that `WAIT` can wait for. A replica that has this write also has every earlier
    /// write of the server.
    ///
    /// KEYS: log, epoch. ARGV: epoch.
    static let touch = RedisScript(
        common + """
            if present() ~= ARGV[1] then return {'EPOCH'} end
            redis.call('HINCRBY', KEYS[2], 'touched', 1)
            return {'OK'}
            """
    )

    /// Removes old entries and rows. Times never decrease within an epoch, so a binary search finds
    /// the first entry to keep.
    ///
    /// KEYS: log, epoch, nodes. ARGV: time, count, time of rows; an empty value sets no limit.
    static let trim = RedisScript(
        common + """
            local function time(entry)
              for i = 1, #entry[2], 2 do if entry[2][i] == 't' then return tonumber(entry[2][i + 1]) or 0 end end
              return 0
            end
            local function first(from, to) return redis.call('XRANGE', KEYS[1], from, to, 'COUNT', 1)[1] end
            local function firstYoung(since)
              local entry = first('-', '+')
              while entry and time(entry) < since do
                local epoch, low = string.match(entry[1], '^(%d+)-(%d+)$')
                local last = redis.call('XREVRANGE', KEYS[1], epoch .. '-18446744073709551615', epoch .. '-0', 'COUNT', 1)[1]
                if time(last) < since then
                  local next = first('(' .. last[1], '+')
                  if not next then return last[1] end
                  entry = next
                else
                  local high = tonumber(string.match(last[1], '-(%d+)$'))
                  low = tonumber(low)
                  for _ = 1, 64 do
                    if low >= high then break end
                    local middle = math.floor((low + high) / 2)
                    local found = first(string.format('%s-%.0f', epoch, middle), last[1])
                    if time(found) >= since then high = middle
                    else low = tonumber(string.match(found[1], '-(%d+)$')) + 1 end
                  end
                  return string.format('%s-%.0f', epoch, high)
                end
              end
              return entry and entry[1]
            end
            if ARGV[1] ~= '' then
              local id = firstYoung(tonumber(ARGV[1]))
              if id then redis.call('XTRIM', KEYS[1], 'MINID', id) end
            end
            if ARGV[2] ~= '' then redis.call('XTRIM', KEYS[1], 'MAXLEN', ARGV[2]) end
            if ARGV[3] ~= '' then
              local rows = redis.call('HGETALL', KEYS[3])
              for i = 1, #rows, 2 do
                local seen = tonumber(string.match(rows[i + 1], ' (%d+)$') or '0')
                if seen < tonumber(ARGV[3]) then redis.call('HDEL', KEYS[3], rows[i]) end
              end
            end
            return {'OK'}
            """
    )
}
