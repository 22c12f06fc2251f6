import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore
package import OfflineStore

/// A store that is joined to a fleet log, with its own purges and those of other nodes, and its
/// expected content after its power failed.
///
/// Purge `n` is of response `n`: own ones have odd numbers, and those of others even ones, at the
/// place with this number.
package struct SharingWorkload: Sendable {
    package static let count = 24
    /// A response that no purge is about.
    private static let kept = 0

    private let store: CacheManager
    private var log: any InvalidationLog { store.invalidationLog }

    package init(_ store: CacheManager) { self.store = store }

    private static func key(_ number: Int) throws -> StoreKey {
        StoreKey(target: try TargetURI("https://origin.example/\(number)"))
    }

    private static func cursor(_ number: Int) -> LogCursor {
        LogCursor(position: LogPosition(epoch: 1, number: UInt64(number)), epochs: [1: UInt64(number)])
    }

    /// Joins the log, and stores every response.
    package func begin() async throws {
        _ = try await log.join("shop", at: FixedClock().now())
        for number in 0...Self.count {
            let response = RawResponse(status: .ok, fields: [:], body: ByteBuffer(repeating: 7, count: 100))
            try await store.setResponse(response, for: Self.key(number), expiry: .never)
        }
        try await log.append([], through: Self.cursor(1), at: FixedClock().now())
        try await log.synchronize()
    }

    /// Purges as far as it comes, with a line for each promise.
    package func run(_ promise: (String) -> Void) async throws {
        for number in 1...Self.count {
            if number % 2 == 1 {
                _ = try await store.responses.invalidate(
                    .key(Self.key(number)),
                    .mark(.unspecified),
                    at: FixedClock().now()
                )
                promise("own \(number)")
            } else {
                try await apply(number)
                guard try await isMarked(number) else { throw Wrong("\(number) is not in force") }
                if number % 6 == 0 {
                    try await log.synchronize()
                    promise("durable \(number)")
                }
            }
        }
    }

    private func apply(_ number: Int) async throws {
        let purge = FleetInvalidation(
            id: .random(),
            scope: .key(try Self.key(number)),
            effect: .mark(.unspecified),
            issuedAt: FixedClock().now()
        )
        let cursor = Self.cursor(number)
        try await log.append([.apply(purge, cursor.position)], through: cursor, at: FixedClock().now())
    }

    private func isMarked(_ number: Int) async throws -> Bool {
        guard let response = try await store.responses.lookup(try Self.key(number)).first else {
            throw Wrong("response \(number) is lost")
        }
        return response.head.isInvalidated
    }

    /// Returns the findings about a store that was opened again, which reads on from its place.
    ///
    /// - Parameter promises: the lines of ``run(_:)``.
    package func findings(_ promises: [String]) async throws -> [String] {
        var findings: [String] = []
        let place = try await log.join("shop", at: FixedClock().now())
        let reached = Int(place.cursor.position.number)
        for promise in promises {
            let words = promise.split(separator: " ")
            guard words.count == 2, let number = Int(words[1]) else { continue }
            if words[0] == "own", try await !isMarked(number) {
                findings.append("the acknowledged purge \(number) is lost")
            }
            if words[0] == "durable", reached < number {
                findings.append("the place is \(reached), although \(number) was durable")
            }
        }
        // The place must not be ahead of the purges that are in force.
        for number in stride(from: 2, through: min(reached, Self.count), by: 2) where try await !isMarked(number) {
            findings.append("the place is \(reached), and \(number) is not in force")
        }
        if try await isMarked(Self.kept) { findings.append("everything is distrusted") }
        let own = try await log.unpublished(limit: 1000).count
        let acknowledged = promises.count { $0.hasPrefix("own") }
        if own < acknowledged { findings.append("\(own) purges wait to be published, of \(acknowledged)") }
        for number in stride(from: 2, through: Self.count, by: 2) where number > reached {
            try await apply(number)
            if try await !isMarked(number) { findings.append("\(number) is not in force after it was read again") }
        }
        return findings
    }
}
