import HoldfastTesting
import Observation
import Testing

@testable import Holdfast

/// Queries of a client on a scripted network.
@MainActor @Suite(.timeLimit(.minutes(20))) struct QueryTests {
    private static let x = PathEndpoint(baseURL: ScriptedClient.url, path: "/x")
    private static let target = ScriptedClient.url + "/x"

    /// Waits until a query shows a value, and is done.
    private func wait(for value: String, _ query: Query<String>) async {
        while query.value != value || query.isRefreshing, !Task.isCancelled { await Task.yield() }
    }

    // MARK: Values

    @Test func storedValueComesFirstThenTheOrigins() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/x", .fresh("1"))
            _ = try await fixture.client.fetch(Self.x)
            fixture.clock.advance(by: .seconds(90))
            let gate = Gate()
            var slow = ScriptedTransport.Reply.fresh("2")
            slow.beforeHead = gate
            fixture.script("/x", slow)
            let query = fixture.client.query(Self.x)
            #expect(query.isLoading && query.value == nil && query.age == nil)
            while query.value == nil, !Task.isCancelled { await Task.yield() }
            #expect(query.value == "1" && query.source == .store && query.isStale && query.age == .seconds(90))
            while !query.isRefreshing, !Task.isCancelled { await Task.yield() }
            #expect(!query.isLoading && query.error == nil && !query.isOffline)
            gate.open()
            await wait(for: "2", query)
            #expect(query.source == .network && !query.isStale && query.age == .zero)
            fixture.clock.advance(by: .seconds(7))
            #expect(query.age == .seconds(7))
        }
    }

    @Test func freshStoredValueNeedsNoRequest() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/x", .fresh("1"))
            _ = try await fixture.client.fetch(Self.x)
            let query = fixture.client.query(Self.x)
            await wait(for: "1", query)
            #expect(query.source == .store && !query.isStale && fixture.transport.requests.count == 1)
        }
    }

    @Test func observersAreToldOfNewContentOnly() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/x", .fresh("1"), .fresh("1"), .fresh("2"))
            let query = fixture.client.query(Self.x)
            await wait(for: "1", query)
            let events = Events()
            withObservationTracking {
                _ = query.value
            } onChange: {
                events.append("value")
            }
            await query.refresh()
            #expect(events.all == [] && fixture.transport.requests.count == 2)
            await query.refresh()
            #expect(events.all == ["value"] && query.value == "2")
        }
    }

    @Test func valueOfAnotherCallIsShown() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/x", .fresh("1"), .fresh("2"))
            let query = fixture.client.query(Self.x)
            await wait(for: "1", query)
            _ = try await fixture.client.fetch(Self.x, .networkOnly)
            await wait(for: "2", query)
            #expect(fixture.transport.requests.count == 2)
        }
    }

    @Test func stepsAndOptionsOfTheCallApply() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/x", .fresh("20"))
            let query = Query(fixture.client.call(Self.x, as: Int.self).map { $0 + 1 })
            while query.isLoading, !Task.isCancelled { await Task.yield() }
            #expect(query.value == 21)
        }
    }

    // MARK: Many queries

    @Test func thirtyQueriesMakeOneRequest() async throws {
        try await ScriptedClient.run { fixture in
            func held(_ text: String) -> Gate {
                let gate = Gate()
                var slow = ScriptedTransport.Reply.fresh(text)
                slow.beforeHead = gate
                fixture.script("/x", slow)
                return gate
            }
            let first = held("1")
            let queries = (0..<30).map { _ in fixture.client.query(Self.x) }
            while fixture.client.engine.memberCount < 30, !Task.isCancelled { await Task.yield() }
            first.open()
            for query in queries { await wait(for: "1", query) }
            #expect(fixture.transport.requests.count == 1)
            let second = held("2")
            try await fixture.store.invalidateResponses(for: try TargetURI(Self.target))
            while fixture.client.engine.memberCount < 30, !Task.isCancelled { await Task.yield() }
            second.open()
            for query in queries { await wait(for: "2", query) }
            #expect(fixture.transport.requests.count == 2)
        }
    }

    // MARK: Changes

    @Test func purgedValueIsFetched() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/x", .fresh("1"), .fresh("2"), .fresh("3"))
            let query = fixture.client.query(Self.x)
            await wait(for: "1", query)
            try await fixture.store.invalidateResponses(for: try TargetURI(Self.target))
            await wait(for: "2", query)
            try await fixture.store.removeAllResponses()
            await wait(for: "3", query)
            #expect(fixture.transport.requests.count == 3)
        }
    }

    @Test(arguments: [true, false]) func updatedValueIsShownAndThenFetched(isSet: Bool) async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/x", .fresh("1"))
            let query = fixture.client.query(Self.x)
            await wait(for: "1", query)
            let gate = Gate()
            var slow = ScriptedTransport.Reply.fresh("3")
            slow.beforeHead = gate
            fixture.script("/x", slow)
            if isSet {
                try await fixture.client.set(Self.x, "2")
            } else {
                try await fixture.client.update(Self.x) { $0 = "2" }
            }
            while query.value != "2" || !query.isRefreshing, !Task.isCancelled { await Task.yield() }
            #expect(query.isStale && query.source == .store)
            gate.open()
            await wait(for: "3", query)
            #expect(!query.isStale && fixture.transport.requests.count == 2)
        }
    }

    @Test func valueThatIsSetWithoutAStoredOneIsShownOffline() async throws {
        try await ScriptedClient.run(.init(mode: .offline)) { fixture in
            let query = fixture.client.query(Self.x)
            while query.error == nil, !Task.isCancelled { await Task.yield() }
            #expect(query.error?.code == .offlineMiss && query.isOffline && !query.isLoading)
            try await fixture.client.set(Self.x, "1")
            await wait(for: "1", query)
            #expect(query.isStale && fixture.transport.requests.isEmpty)
        }
    }

    // MARK: Outages

    @Test func failureIsShownAndTheOriginsReturnEndsIt() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/x", .fresh("1"))
            let query = fixture.client.query(Self.x)
            await wait(for: "1", query)
            fixture.transport.isReachable = false
            await query.refresh()
            #expect(query.value == "1" && query.error?.code == .originUnreachable && query.isOffline)
            fixture.transport.isReachable = true
            fixture.clock.advance(by: .seconds(90))
            fixture.script("/x", .fresh("2"))
            fixture.script("/y", .fresh("y"))
            // No clock moves: the response to another request shows that the origin is back.
            _ = try await fixture.client.fetch(fixture.get("/y"), .networkOnly)
            await wait(for: "2", query)
            #expect(query.error == nil && !query.isOffline && !query.isStale)
        }
    }

    // The value is fresh, then stale, then invalidated.
    @Test func errorStaysDuringAnOutage() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/x", .fresh("1"))
            let query = fixture.client.query(Self.x)
            await wait(for: "1", query)
            fixture.transport.isReachable = false
            for _ in 0..<3 {
                await query.refresh()
                #expect(query.value == "1" && query.error?.code == .originUnreachable && query.isOffline)
                fixture.clock.advance(by: .seconds(90))
            }
            try await fixture.store.invalidateResponses(for: try TargetURI(Self.target))
            while !query.isStale || query.isRefreshing, !Task.isCancelled { await Task.yield() }
            #expect(query.value == "1" && query.error?.code == .originUnreachable && query.isOffline)
        }
    }

    @Test func queryThatBeginsInAnOutageShowsTheStoredValue() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/x", .fresh("1"))
            _ = try await fixture.client.fetch(Self.x)
            fixture.clock.advance(by: .seconds(90))
            fixture.transport.isReachable = false
            let query = fixture.client.query(Self.x)
            while !query.isOffline, !Task.isCancelled { await Task.yield() }
            await wait(for: "1", query)
            #expect(query.isStale && query.error == nil)
        }
    }

    @Test func modeIsFollowed() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/x", .fresh("1"), .fresh("2"))
            _ = try await fixture.client.fetch(Self.x)
            fixture.clock.advance(by: .seconds(90))
            fixture.client.mode = .offline
            let query = fixture.client.query(Self.x)
            await wait(for: "1", query)
            #expect(query.isOffline && query.isStale && fixture.transport.requests.count == 1)
            fixture.client.mode = .automatic
            await wait(for: "2", query)
            #expect(!query.isOffline)
        }
    }

    // MARK: Time

    @Test func intervalIsMeasuredByTheClientsClock() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/x", .fresh("1"), .fresh("2"), .fresh("3"))
            let query = fixture.client.query(Self.x, every: .seconds(5))
            await wait(for: "1", query)
            for (offset, value) in [(5, "2"), (10, "3")] {
                await fixture.sleeper.waitForDeadline(.seconds(offset))
                fixture.sleeper.advance(by: .seconds(5))
                await wait(for: value, query)
            }
            #expect(fixture.transport.requests.count == 3)
        }
    }

    // MARK: The end

    @Test func stoppedQueryKeepsItsValue() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/x", .fresh("1"), .fresh("2"))
            let query = fixture.client.query(Self.x)
            await wait(for: "1", query)
            query.stop()
            _ = try await fixture.client.fetch(Self.x, .networkOnly)
            await query.refresh()
            #expect(query.value == "1" && !query.isRefreshing && fixture.transport.requests.count == 2)
        }
    }

    @Test func closedClientEndsIt() async throws {
        try await ScriptedClient.run { fixture in
            let query = fixture.client.query(Self.x)
            fixture.script("/x", .ok("1", beforeHead: Gate()))
            await fixture.transport.waitForRequests(1)
            try await fixture.client.close()
            while query.isLoading, !Task.isCancelled { await Task.yield() }
            await query.refresh()
            #expect(query.value == nil && !query.isLoading && query.error?.code == .closed)
        }
    }

    @Test func closedClientLeavesTheValue() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/x", .fresh("1"))
            let query = fixture.client.query(Self.x)
            await wait(for: "1", query)
            try await fixture.client.close()
            while query.error == nil, !Task.isCancelled { await Task.yield() }
            #expect(query.value == "1" && query.error?.code == .closed && !query.isRefreshing)
        }
    }

    @Test func queryOfAClosedClientSaysSo() async throws {
        try await ScriptedClient.run { fixture in
            try await fixture.client.close()
            let query = fixture.client.query(Self.x)
            while query.isLoading, !Task.isCancelled { await Task.yield() }
            #expect(query.value == nil && query.error?.code == .closed)
        }
    }

    @Test func mutationIsNotSent() async throws {
        try await ScriptedClient.run { fixture in
            let like = PathEndpoint(baseURL: ScriptedClient.url, path: "/like", method: .post)
            let query = fixture.client.query(like, every: .seconds(1))
            #expect(query.error?.code == .notRepeatable && !query.isLoading)
            await query.refresh()
            #expect(fixture.transport.requests.isEmpty && fixture.sleeper.deadlines.isEmpty)
        }
    }

    @Test func missingClientIsAnError() async {
        let query = Query(Self.x.call)
        #expect(query.error?.code == .noClient && !query.isLoading)
    }

    @Test func invalidRequestIsAnErrorThatARefreshRepeats() async throws {
        try await ScriptedClient.run { fixture in
            let query = fixture.client.query(PathEndpoint(baseURL: "gopher://a.example", path: "/x"))
            while query.isLoading, !Task.isCancelled { await Task.yield() }
            #expect(query.error?.code == .invalidURL && !query.isOffline)
            await query.refresh()
            #expect(query.error?.code == .invalidURL && !query.isLoading)
        }
    }
}
