extension RawClient {
    /// How many connections a property of one connection is tested with: alone, and with others
    /// beside it.
    ///
    /// A single connection has the event loop to itself: work put off until the loop's next round
    /// comes in time. Beside thirty others it comes too late.
    static let counts = [1, 30]

    /// Runs a property on this many connections at once. Throws the first failure.
    ///
    /// - Parameter body: gets a connection and its number, from 0.
    static func onEach(
        of count: Int,
        port: Int,
        tls: TLS? = nil,
        _ body: @escaping @Sendable (RawClient, Int) async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<count {
                group.addTask { try await with(port: port, tls: tls) { try await body($0, number) } }
            }
            try await group.waitForAll()
        }
    }
}
