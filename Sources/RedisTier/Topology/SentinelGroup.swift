import NIOCore

/// The sentinels that watch a primary.
///
/// <https://redis.io/docs/latest/develop/reference/sentinel-clients/>
struct SentinelGroup: Sendable {
    let endpoints: [RedisEndpoint]
    /// The primary's name on the sentinels.
    let primary: String
    let settings: RedisConnectionSettings
    let group: any EventLoopGroup

    /// Asks all sentinels concurrently, and returns once enough of them agree.
    ///
    /// - Throws: ``RedisTierError/Code/unreachable`` if no sentinel knows the primary.
    func findPrimary() async throws(RedisTierError) -> RedisEndpoint {
        var ballot = SentinelBallot(sentinels: endpoints.count)
        let (replies, replied) = AsyncStream.makeStream(of: (Int, RedisEndpoint?).self)
        for (number, endpoint) in endpoints.enumerated() {
            // This is not a child task, so that an unresponsive sentinel does not delay the result.
            Task { replied.yield((number, try? await ask(endpoint))) }
        }
        for await (number, endpoint) in replies {
            ballot.add(endpoint, from: number)
            if ballot.isDecided { break }
        }
        guard let winner = ballot.winner else {
            throw RedisTierError(
                .unreachable,
                "No sentinel in 'fleet.url' knows the address of the primary '\(primary)'. "
                    + "Check the name, and that the addresses are those of sentinels."
            )
        }
        return winner
    }

    private func ask(_ endpoint: RedisEndpoint) async throws(RedisTierError) -> RedisEndpoint? {
        var settings = settings
        settings.endpoint = endpoint
        let (connection, _) = try await RedisConnection.connect(settings, on: group.next())
        defer { connection.close() }
        let question = RedisCommand("SENTINEL", "GET-MASTER-ADDR-BY-NAME", .text(primary))
        return Self.endpoint(try await connection.execute(question, within: settings.connectTimeout))
    }

    /// Parses a reply that is either a host and a port, or empty.
    static func endpoint(_ reply: RESPValue) -> RedisEndpoint? {
        guard case .array(let parts) = reply, parts.count == 2, let host = parts[0].text,
            (1...253).contains(host.utf8.count), let port = parts[1].text.flatMap({ Int($0) }),
            (1...65_535).contains(port)
        else { return nil }
        return .tcp(host: host, port: port)
    }
}
