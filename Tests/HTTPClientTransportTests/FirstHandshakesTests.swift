import Testing

@testable import HTTPClientTransport

/// Requests to an origin before it is known whether they can share a connection.
@Suite(.timeLimit(.minutes(20))) struct FirstHandshakesTests {
    private static let origin = "https://a.example"

    /// Starts as many requests as may try, and thirty more that wait.
    private func crowd(_ handshakes: FirstHandshakes) async throws -> [Task<Void, any Error>] {
        for _ in 0..<FirstHandshakes.limit { try await handshakes.enter(Self.origin) }
        let waiting = (0..<30).map { _ in Task { try await handshakes.enter(Self.origin) } }
        while handshakes.waitingCount < 30, !Task.isCancelled { await Task.yield() }
        return waiting
    }

    @Test func otherRequestsWaitForTheFirstConnection() async throws {
        let handshakes = FirstHandshakes()
        let waiting = try await crowd(handshakes)
        handshakes.recordConnection(Self.origin)
        for task in waiting { try await task.value }
        // From now on no request waits.
        for _ in 0..<300 { try await handshakes.enter(Self.origin) }
    }

    @Test func failureReleasesTheWaitingRequests() async throws {
        let handshakes = FirstHandshakes()
        let waiting = try await crowd(handshakes)
        handshakes.leave(Self.origin)
        for task in waiting { try await task.value }
    }

    @Test func cancellationEndsTheWait() async throws {
        let handshakes = FirstHandshakes()
        let waiting = try await crowd(handshakes)
        for task in waiting { task.cancel() }
        for task in waiting { await #expect(throws: CancellationError.self) { try await task.value } }
        #expect(handshakes.waitingCount == 0)
    }

    @Test func originsHaveSeparateLimits() async throws {
        let handshakes = FirstHandshakes()
        let waiting = try await crowd(handshakes)
        for _ in 0..<FirstHandshakes.limit { try await handshakes.enter("https://b.example") }
        for _ in 0..<300 { try await handshakes.enter("http://a.example") }
        handshakes.recordConnection(Self.origin)
        for task in waiting { try await task.value }
    }
}
