/// The scripts for values and leases. All keys of a script are passed as `KEYS` and belong to one
/// cache key, so a cluster can run the script.
extension RedisScript {
    /// Puts a value and releases a lease. If the existing value's time is more than a minute ahead
    /// of the server's clock, a faulty node has put it. It is replaced, so that it does not stay
    /// until it is evicted.
    ///
    /// The lease is released even if the value was rejected or did not fit. The release comes after
    /// the put, because the server checks its memory limit only before a script's first write.
    ///
    /// KEYS: value, lease. ARGV: value, milliseconds, token (empty if there is no lease).
    static let put = RedisScript(
        """
        local function time(head)
          if type(head) ~= 'string' or #head < 16 or string.sub(head, 1, 4) ~= 'HFs1' then return -1 end
          local t = 0
          for i = 9, 16 do t = t * 256 + string.byte(head, i) end
          return t
        end
        local there = time(redis.pcall('GETRANGE', KEYS[1], 0, 15))
        local clock = redis.call('TIME')
        local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
        local result = false
        if there <= time(ARGV[1]) or there > now + 60000 then
          result = redis.pcall('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
        end
        if ARGV[3] ~= '' and redis.pcall('GET', KEYS[2]) == ARGV[3] then redis.call('DEL', KEYS[2]) end
        if type(result) == 'table' and result.err then return result end
        return result and 1 or 0
        """
    )

    /// Extends a lease that is still held with its token.
    ///
    /// KEYS: lease. ARGV: token, milliseconds.
    static let renew = RedisScript(
        """
        if redis.pcall('GET', KEYS[1]) ~= ARGV[1] then return 0 end
        return redis.call('PEXPIRE', KEYS[1], ARGV[2])
        """
    )

    /// Releases a lease that is still held with its token.
    ///
    /// KEYS: lease. ARGV: token.
    static let release = RedisScript(
        """
        if redis.pcall('GET', KEYS[1]) ~= ARGV[1] then return 0 end
        return redis.call('DEL', KEYS[1])
        """
    )
}
