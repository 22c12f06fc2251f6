import Holdfast
import HoldfastTesting
import Synchronization
import Testing

/// Streams that follow the store emit invalidated values again, and no invalidation ends a stream.
@Suite(.timeLimit(.minutes(20))) struct InvalidatedStreamTests {
    /// The ways to invalidate a stored value.
    enum Cause: CaseIterable {
        case mutation, target, tag, prefix, everything
    }

    /// Counts how often a stream reads the store.
    private final class Lookups: PreparingPlugin {
        private let counted = Mutex(0)
        var count: Int { counted.withLock { $0 } }

        func prepare(_ request: inout CacheRequest, for call: CallInfo) async throws {
            if call.purpose == .lookup { counted.withLock { $0 += 1 } }
        }
    }

    private static let x = PathEndpoint(baseURL: ScriptedClient.url, path: "/x")

    /// A client whose stored responses for `/x` have the tag `feed`.
    private func run(_ body: (ScriptedClient) async throws -> Void) async throws {
        var feed = RuleSettings()
        feed.tags = ["feed"]
        let rules = try RuleSet([Rule(matching: .init(urls: ["/x"]), settings: feed)])
        try await ScriptedClient.run(.init(rules: rules), body)
    }

    private func follow(
        _ fixture: ScriptedClient,
        _ change: (inout CallOptions) -> Void = { _ in }
    ) -> EmissionStream<String>.AsyncIterator {
        let call = fixture.client.call(Self.x).with { options in
            options.followsStore = true
            change(&options)
        }
        return call.request().makeAsyncIterator()
    }

    private func subscribe(
        _ fixture: ScriptedClient,
        _ events: Events,
        _ lookups: Lookups,
        _ change: (inout CallOptions) -> Void = { _ in }
    ) -> StreamSubscription {
        let call = fixture.client.call(Self.x).with { options in
            options.followsStore = true
            options.plugins = [lookups]
            change(&options)
        }
        return call.request().subscribe(onNext: { events.append($0.value) }, onError: { events.append("\($0.code)") })
    }

    private func invalidate(_ fixture: ScriptedClient, by cause: Cause = .target) async throws {
        let target = try TargetURI(ScriptedClient.url + "/x")
        switch cause {
        case .mutation:
            fixture.script("/change", .status(.noContent))
            let change = AnyRequest<NoContent>(
                baseURL: ScriptedClient.url,
                path: "/change",
                method: .post,
                invalidates: [.endpoint(Self.x)]
            )
            _ = try await fixture.client.fetch(change)
        case .target: try await fixture.store.invalidateResponses(for: target)
        case .tag: try await fixture.store.invalidateResponses(tagged: "feed")
        case .prefix: try await fixture.store.invalidateResponses(withPrefix: try TargetPrefix(ScriptedClient.url))
        case .everything: try await fixture.store.invalidateAllResponses()
        }
    }

    @Test(arguments: Cause.allCases) func invalidatedValueIsEmittedAgainAsStale(_ cause: Cause) async throws {
        try await run { fixture in
            fixture.script("/x", .fresh("1"), .fresh("2"))
            var iterator = follow(fixture)
            #expect(try await iterator.next()?.isStale == false)
            try await invalidate(fixture, by: cause)
            let emission = try await iterator.next()
            #expect(
                emission?.value == "1" && emission?.isStale == true && emission?.isUnchanged == true
                    && emission?.source == .store
            )
            // The stream continues with a value that another call requests.
            _ = try await fixture.client.fetch(Self.x)
            let live = try await iterator.next()
            #expect(live?.value == "2" && live?.isStale == false && live?.isUnchanged == false)
            #expect(fixture.transport.requests.count { $0.path == "/x" } == 2)
        }
    }

    // A value that was emitted as stale and turns out to be valid is emitted again as valid.
    @Test(arguments: [CallOptions.UnchangedValues.emitted, .suppressed])
    func confirmedValueIsEmittedUnlessUnchangedOnesAreSuppressed(_ unchanged: CallOptions.UnchangedValues) async throws
    {
        try await run { fixture in
            fixture.script("/x", .fresh("1", etag: "\"1\""), .notModified(), .fresh("2"))
            var iterator = follow(fixture) { $0.unchangedValues = unchanged }
            _ = try await iterator.next()
            try await invalidate(fixture)
            #expect(try await iterator.next()?.isStale == true)
            _ = try await fixture.client.fetch(Self.x)
            if unchanged == .emitted {
                let confirmed = try await iterator.next()
                #expect(confirmed?.value == "1" && confirmed?.isStale == false && confirmed?.isUnchanged == true)
            }
            _ = try await fixture.client.fetch(Self.x, .networkOnly)
            #expect(try await iterator.next()?.value == "2")
        }
    }

    @Test func streamWithoutStaleValuesEmitsNothing() async throws {
        try await run { fixture in
            fixture.script("/x", .fresh("1"), .fresh("2"))
            let lookups = Lookups()
            let events = Events()
            let subscription = subscribe(fixture, events, lookups) { $0.staleValues = .skipped }
            while events.all.isEmpty, !Task.isCancelled { await Task.yield() }
            let before = lookups.count
            try await invalidate(fixture)
            while lookups.count == before, !Task.isCancelled { await Task.yield() }
            _ = try await fixture.client.fetch(Self.x)
            while events.all.count < 2, !Task.isCancelled { await Task.yield() }
            #expect(events.all == ["1", "2"])
            subscription.cancel()
        }
    }

    @Test func otherInvalidationsEmitNothing() async throws {
        try await run { fixture in
            fixture.script("/x", .fresh("1"), .fresh("2"))
            var iterator = follow(fixture) { $0.invalidatedValues = .fetched }
            _ = try await iterator.next()
            try await fixture.store.invalidateResponses(tagged: "other")
            try await fixture.store.invalidateResponses(for: try TargetURI(ScriptedClient.url + "/y"))
            _ = try await fixture.client.fetch(Self.x, .networkOnly)
            #expect(try await iterator.next()?.value == "2")
        }
    }

    @Test func originIsAskedOnceIfTheCallWantsIt() async throws {
        try await run { fixture in
            fixture.script("/x", .fresh("1"), .fresh("2"), .fresh("3"))
            var iterator = follow(fixture) { $0.invalidatedValues = .fetched }
            for value in ["1", "2"] {
                let current = try await iterator.next()
                #expect(current?.value == value && current?.source == .network)
                try await invalidate(fixture)
                let stale = try await iterator.next()
                #expect(stale?.value == value && stale?.isStale == true)
                // Further invalidations of the same value change nothing.
                try await fixture.store.invalidateResponses(tagged: "other")
            }
            let last = try await iterator.next()
            #expect(last?.value == "3" && last?.source == .network && last?.isStale == false)
            #expect(fixture.transport.requests.count == 3)
        }
    }

    @Test(arguments: [NetworkFailure.throwing, .endingQuietly])
    func callDecidesTheEndWhenTheOriginIsUnreachable(_ failure: NetworkFailure) async throws {
        try await run { fixture in
            fixture.script("/x", .fresh("1"), .status(.internalServerError), .fresh("2"))
            var iterator = follow(fixture) { options in
                options.invalidatedValues = .fetched
                options.networkFailure = failure
            }
            _ = try await iterator.next()
            try await invalidate(fixture)
            #expect(try await iterator.next()?.isStale == true)
            await fixture.transport.waitForRequests(2)
            while fixture.client.inFlightFetchCount > 0, !Task.isCancelled { await Task.yield() }
            _ = try await fixture.client.fetch(Self.x, .networkOnly)
            switch failure {
            case .throwing: await expect(.status) { _ = try await iterator.next() }
            case .endingQuietly: #expect(try await iterator.next()?.value == "2")
            }
        }
    }

    // The store has no value to emit, so the network is asked.
    @Test func removedValueIsFetched() async throws {
        try await run { fixture in
            fixture.script("/x", .fresh("1"), .fresh("2"))
            var iterator = follow(fixture) { $0.invalidatedValues = .fetched }
            _ = try await iterator.next()
            try await fixture.store.removeAllResponses()
            let next = try await iterator.next()
            #expect(next?.value == "2" && next?.source == .network)
        }
    }

    @Test func valueThatMayNotBeUsedStaleIsFetchedInstead() async throws {
        try await run { fixture in
            let fields: HTTPFields = [.cacheControl: "max-age=60, must-revalidate"]
            fixture.script("/x", .ok("1", fields: fields), .ok("2", fields: fields))
            var iterator = follow(fixture) { $0.invalidatedValues = .fetched }
            _ = try await iterator.next()
            try await invalidate(fixture)
            let next = try await iterator.next()
            #expect(next?.value == "2" && next?.source == .network)
        }
    }

    @Test(arguments: [OfflineMode.offline, .preferStored])
    func offlineModesSendNoRequest(_ mode: OfflineMode) async throws {
        try await run { fixture in
            fixture.script("/x", .fresh("1"))
            var iterator = follow(fixture) { $0.invalidatedValues = .fetched }
            _ = try await iterator.next()
            fixture.client.mode = mode
            try await invalidate(fixture)
            #expect(try await iterator.next()?.isStale == true)
            try await fixture.store.invalidateResponses(tagged: "other")
            #expect(fixture.transport.requests.count == 1)
        }
    }

    // An invalidation while the origin responds keeps the response from being stored. The stored
    // value is then older than the emitted one.
    @Test func olderValueNeverFollowsANewerOne() async throws {
        try await run { fixture in
            let gate = Gate()
            var slow = ScriptedTransport.Reply.fresh("2")
            slow.beforeHead = gate
            fixture.script("/x", .fresh("1"), slow, .fresh("3"))
            _ = try await fixture.client.fetch(Self.x)
            let lookups = Lookups()
            let events = Events()
            let subscription = subscribe(fixture, events, lookups)
            await fixture.transport.waitForRequests(2)
            try await invalidate(fixture)
            gate.open()
            while events.all.count < 2, !Task.isCancelled { await Task.yield() }
            #expect(try await fixture.client.stored(Self.x)?.value == "1")
            let before = lookups.count
            try await fixture.store.invalidateResponses(tagged: "other")
            while lookups.count == before, !Task.isCancelled { await Task.yield() }
            _ = try await fixture.client.fetch(Self.x, .networkOnly)
            while events.all.count < 3, !Task.isCancelled { await Task.yield() }
            #expect(events.all == ["1", "2", "3"])
            subscription.cancel()
        }
    }
}
