import HoldfastTesting
import Synchronization
import Testing

@testable import Holdfast

/// Queries end with their screens, and see every change until then.
@MainActor @Suite(.timeLimit(.minutes(20))) struct QueryLifetimeTests {
    private static let x = PathEndpoint(baseURL: ScriptedClient.url, path: "/x")
    private static let target = ScriptedClient.url + "/x"

    private struct Screen {
        weak var query: Query<String>?
    }

    // Screens are closed immediately, while they load, and while they show a value and wait.
    @Test func thousandScreensLeaveNothing() async throws {
        try await ScriptedClient.run { fixture in
            let client = fixture.client
            fixture.transport.script(Self.target, repeating: .fresh("1"))
            var screens: [Screen] = []
            for number in 0..<1_000 {
                let query = client.query(Self.x, every: .seconds(5))
                screens.append(Screen(query: query))
                for _ in 0..<number % 7 { await Task.yield() }
                if number % 5 == 0 { while query.isLoading, !Task.isCancelled { await Task.yield() } }
                if number % 50 == 0 { try await client.invalidate(Self.x) }
            }
            while screens.contains(where: { $0.query != nil }), !Task.isCancelled { await Task.yield() }
            while client.followed.count > 0 || client.engine.store.changes.isWatched, !Task.isCancelled {
                await Task.yield()
            }
            while client.engine.origins.changes.isWatched || client.modeChanges.isWatched, !Task.isCancelled {
                await Task.yield()
            }
            while fixture.sleeper.deadlines.contains(.init(.seconds(5))), !Task.isCancelled { await Task.yield() }
            while client.inFlightFetchCount > 0, !Task.isCancelled { await Task.yield() }
            #expect(screens.count == 1_000)
        }
    }

    @Test func releasedQueryCancelsItsRequest() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/x", .ok("1", beforeHead: Gate()))
            var query: Query<String>? = fixture.client.query(Self.x)
            await fixture.transport.waitForRequests(1)
            #expect(query?.isLoading == true)
            query = nil
            while fixture.client.inFlightFetchCount > 0, !Task.isCancelled { await Task.yield() }
        }
    }

    /// An origin with numbered contents.
    private final class Origin: Sendable {
        private let state = Mutex((content: 0, least: 0))

        var least: Int { state.withLock { $0.least } }
        var reply: ScriptedTransport.Reply { .fresh("content \(state.withLock { $0.content })") }

        func publish() { state.withLock { $0.content += 1 } }
        /// Notes that what is requested from now on must be shown.
        func require() { state.withLock { $0.least = $0.content } }
    }

    // The changes of thirty tasks, in another order for each seed. If the query missed the last
    // purge or update, it would never show what the origin has since then.
    @Test(arguments: [1, 2, 3, 4] as [UInt64]) func noChangeOfThirtyTasksIsLost(seed: UInt64) async throws {
        try await ScriptedClient.run { fixture in
            let (client, store, origin) = (fixture.client, fixture.store, Origin())
            let (x, target) = (Self.x, try TargetURI(Self.target))
            fixture.transport.script(Self.target) { _ in
                await Task.yield()
                return origin.reply
            }
            let query = client.query(x)
            while query.isLoading, !Task.isCancelled { await Task.yield() }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for task in 0..<30 as Range<UInt64> {
                    group.addTask {
                        var random = SeededRandom(seed: seed &* 1_000 &+ task)
                        for step in 0..<10 {
                            for _ in 0..<Int.random(in: 0..<20, using: &random) { await Task.yield() }
                            switch Int.random(in: 0..<4, using: &random) {
                            case 0:
                                origin.require()
                                try await store.invalidateResponses(for: target)
                            case 1:
                                origin.require()
                                try await client.update(x) { $0 = "update \(task) \(step)" }
                            case 2: origin.publish()
                            default: _ = try await client.fetch(x, .networkOnly)
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            origin.publish()
            origin.require()
            try await client.update(x) { $0 = "last" }
            while true {
                let number = query.value?.split(separator: " ").last.flatMap { Int($0) }
                if let number, query.value?.hasPrefix("content") == true, number >= origin.least {
                    // A fetch from before the update may have shown the same content already.
                    let stored = try await client.stored(x)
                    if stored?.value == query.value, query.error == nil { break }
                }
                await Task.yield()
            }
        }
    }
}
