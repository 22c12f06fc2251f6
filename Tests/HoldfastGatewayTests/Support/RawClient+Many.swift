extension RawClient {
    /// How many connections a property of one connection is tested with: alone, and with others
    /// beside it.
    ///
    /// One connection has the event loop to itself: what is put off until the loop's next round
    /// comes in time there, and too late where thirty others are served meanwhile.
    static let counts = [1, 30]

    /// Runs a property on this many connections at once. Throws what the first of them throws that
    /// fails.
    ///
    /// - Parameter body: gets a connection and its number, from 0.
    static func onEach(
        of count: Int,
        port: Int,
        _ body: @escaping @Sendable (RawClient, Int) async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<count {
                group.addTask { try await with(port: port) { try await body($0, number) } }
            }
            try await group.waitForAll()
        }
    }
}
