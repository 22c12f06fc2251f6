import Foundation
import Holdfast
import HoldfastTesting
import Testing

@testable import Holdfast

/// `reuseWithin` for responses that the store may not keep.
@Suite(.timeLimit(.minutes(20))) struct ReuseTests {
    private static let secret: HTTPFields = [.cacheControl: "no-store"]
    private static let url = ScriptedClient.url + "/x"

    private func reusing(_ client: CachingClient, _ endpoint: some Endpoint, _ window: Duration = .seconds(2)) -> Call<
        String
    > {
        client.call(endpoint, as: String.self).with { $0.reuseWithin = window }
    }

    private func expectValue(
        _ value: String,
        _ call: Call<String>,
        _ strategy: SingleValueStrategy? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let emission = try await call.fetch(strategy)
        #expect(emission.value == value, sourceLocation: sourceLocation)
    }

    /// Responds "1", "2", … with responses that may not be stored.
    private func count(_ fixture: ScriptedClient, _ fields: HTTPFields = secret, beforeHead: Gate? = nil) {
        fixture.transport.script(Self.url) { _ in
            .ok("\(fixture.transport.requests.count)", fields: fields, beforeHead: beforeHead)
        }
    }

    @Test func sameRequestWithinTheWindowIsSentOnceByEveryCall() async throws {
        // None of these is stored, or the stored one may not be served without validation.
        let usual: HTTPFields = [.cacheControl: "max-age=0, private, must-revalidate", .eTag: "\"1\""]
        for fields in [Self.secret, usual, [.cacheControl: "no-cache"], [:], [.vary: "*"]] as [HTTPFields] {
            try await ScriptedClient.run { fixture in
                count(fixture, fields)
                let call = reusing(fixture.client, fixture.get("/x"))
                let first = try await call.fetch()
                #expect(first.value == "1" && first.source == .network)
                fixture.clock.advance(by: .seconds(1))
                for strategy in [SingleValueStrategy.standard, .storedFirst, .networkFirst, .staleWhileRevalidate] {
                    try await expectValue("1", call, strategy)
                }
                let emissions = await call.request().collected().emissions
                #expect(emissions.map(\.value) == ["1"] && emissions.map(\.source) == [.store])
                #expect(await call.onCache { _ in }.request().collected().failure == nil)
                let chained = try await call.then { _ in call }.fetch().value
                #expect(chained == "1")
                #expect(fixture.transport.requests.count == 1, "\(fields)")
                fixture.clock.advance(by: .milliseconds(1001))
                try await expectValue("2", call)
                #expect(await call.request().collected().emissions.map(\.value) == ["2"])
            }
        }
    }

    @Test func reusedResponseIsMarked() async throws {
        try await ScriptedClient.run { fixture in
            count(fixture)
            let call = reusing(fixture.client, fixture.get("/x"))
            _ = try await call.fetch()
            fixture.clock.advance(by: .seconds(1))
            let again = try await call.fetch()
            #expect(again.source == .store && again.isStale && again.age == .seconds(1))
            #expect(again.outcome == CacheOutcome(isHit: true, detail: .recent))
            // The response is still not stored.
            #expect(try await call.stored() == nil)
        }
    }

    @Test func everyCallAsksWithoutTheSetting() async throws {
        try await ScriptedClient.run { fixture in
            count(fixture)
            for number in 1...3 { try await expectValue("\(number)", fixture.client.call(fixture.get("/x"))) }
            let call = reusing(fixture.client, fixture.get("/x"))
            // Their responses do not serve a call that chose to reuse, either.
            try await expectValue("4", call)
            try await expectValue("5", call, .networkOnly)
            // Without the store the network is asked.
            let alone = fixture.get("/x").on(fixture.client).with { $0.reuseWithin = .seconds(2) }
            try await expectValue("6", alone)
        }
    }

    @Test func callersNeverSeeOlderValues() async throws {
        try await ScriptedClient.run { fixture in
            count(fixture)
            let call = reusing(fixture.client, fixture.get("/x"))
            try await expectValue("1", call)
            try await expectValue("2", fixture.client.call(fixture.get("/x")))
            try await expectValue("3", call)
            try await expectValue("4", call, .networkOnly)
            try await expectValue("5", call)
        }
    }

    @Test(arguments: [30, 2000], 0..<3) func concurrentCallsSendOneRequest(callers: Int, kind: Int) async throws {
        let gate = Gate()
        try await ScriptedClient.run { fixture in
            count(fixture, beforeHead: gate)
            let call = reusing(fixture.client, fixture.get("/x"))
            let values = try await withThrowingTaskGroup(of: [Emission<String>].self) { group in
                for _ in 0..<callers {
                    group.addTask {
                        switch kind {
                        case 0: [try await call.fetch()]
                        case 1: await call.request().collected().emissions
                        default: await call.onCache { _ in }.request().collected().emissions
                        }
                    }
                }
                await fixture.client.recent.waitForCallers(callers)
                gate.open()
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(values.count == callers && values.allSatisfy { $0.value == "1" && $0.source == .network })
            #expect(values.count { $0.outcome.isCollapsed } == callers - 1)
            #expect(fixture.transport.requests.count == 1)
        }
    }

    @Test func principalsAndCredentialsShareNothing() async throws {
        let gate = Gate()
        try await ScriptedClient.run { fixture in
            fixture.transport.script(Self.url) { request in
                let owner = request.head.headerFields[.authorization] ?? "nobody"
                let session = request.head.headerFields[.cookie] ?? ""
                return .ok("\(owner) \(session)", fields: Self.secret, beforeHead: gate)
            }
            let users: [HTTPFields] = [
                [.authorization: "anna"], [.authorization: "bert"], [.cookie: "s=1"], [.cookie: "s=2"], [:],
            ]
            let values = try await withThrowingTaskGroup(of: (Int, String).self) { group in
                for number in 0..<150 {
                    let user = number % users.count
                    let call = reusing(fixture.client, fixture.get("/x", users[user]))
                    group.addTask { (user, try await call.fetch().value) }
                }
                await fixture.transport.waitForRequests(users.count)
                gate.open()
                return try await group.reduce(into: []) { $0.append($1) }
            }
            let expected = ["anna ", "bert ", "nobody s=1", "nobody s=2", "nobody "]
            #expect(values.allSatisfy { $0.1 == expected[$0.0] })
            #expect(fixture.transport.requests.count == users.count)
            // Also named principals whose requests look the same.
            for name in ["anna", "bert"] {
                let naming = RecordingPlugin(events: Events(), onPrepare: { request, _ in request.principal = name })
                let call = reusing(fixture.client, fixture.get("/x")).with { $0.plugins = [naming] }
                for _ in 0..<2 { _ = try await call.fetch() }
            }
            #expect(fixture.transport.requests.count == users.count + 2)
        }
    }

    /// Endpoints that need different results from one URL do not join each other's exchanges.
    @Test func callsWithDifferentNeedsAskSeparately() async throws {
        let gate = Gate()
        try await ScriptedClient.run { fixture in
            count(fixture, beforeHead: gate)
            var ruled = RuleSettings()
            ruled.freshness.lifetime = .seconds(60)
            let plain = Ruled(rule: nil)
            let calls = [
                reusing(fixture.client, plain), reusing(fixture.client, Ruled(rule: ruled)),
                reusing(fixture.client, plain).with { $0.maximumBodyBytes = 7 },
            ]
            let running = (calls + calls).map { call in Task { try await call.fetch() } }
            await fixture.client.recent.waitForCallers(6)
            gate.open()
            for call in running { _ = try await call.value }
            #expect(fixture.transport.requests.count == 3)
        }
    }

    private struct Ruled: Endpoint {
        typealias Response = String
        var baseURL: String { ScriptedClient.url }
        var path: String { "/x" }
        var rule: RuleSettings?
    }

    @Test func failureIsSharedOnlyByWaitingCalls() async throws {
        let failures: [(ScriptedTransport.Reply, HoldfastError.Code)] = [
            (.failure(.other), .transportFailed), (.status(.internalServerError, "no"), .status),
            (.status(.notFound, "no"), .status), (.ok("abcdef", fields: Self.secret).truncated(after: 3), .truncated),
        ]
        for (failure, code) in failures {
            let gate = Gate()
            try await ScriptedClient.run { fixture in
                var reply = failure
                reply.beforeHead = gate
                fixture.script("/x", reply, .ok("good", fields: Self.secret))
                let call = reusing(fixture.client, fixture.get("/x"))
                let codes = try await withThrowingTaskGroup(of: HoldfastError.Code?.self) { group in
                    group.addTask { await call.request().collected().failure }
                    await fixture.transport.waitForRequests(1)
                    for _ in 0..<29 { group.addTask { await call.request().collected().failure } }
                    await fixture.client.recent.waitForCallers(30)
                    gate.open()
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(codes == Array(repeating: code, count: 30), "\(code)")
                try await expectValue("good", call)
                #expect(fixture.transport.requests.count == 2)
            }
        }
    }

    @Test func unreadableResponseIsFetchedAgain() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/x", .ok("no JSON", fields: Self.secret), .ok("7", fields: Self.secret))
            let call = fixture.client.call(fixture.get("/x"), as: Int.self).with { $0.reuseWithin = .seconds(2) }
            await expect(.decodingFailed) { _ = try await call.fetch() }
            let number = try await call.fetch().value
            #expect(number == 7)
            // The kept response serves another type if it can be decoded; otherwise that call asks
            // the origin.
            try await expectValue("7", reusing(fixture.client, fixture.get("/x")))
            #expect(fixture.transport.requests.count == 2)
            fixture.script("/x", .ok("[1]", fields: Self.secret))
            let list = fixture.client.call(fixture.get("/x"), as: [Int].self).with { $0.reuseWithin = .seconds(2) }
            let values = try await list.fetch().value
            #expect(values == [1])
            #expect(fixture.transport.requests.count == 3)
        }
    }

    @Test func firstCallerMayLeaveBeforeTheResponse() async throws {
        let gate = Gate()
        try await ScriptedClient.run { fixture in
            count(fixture, beforeHead: gate)
            let call = reusing(fixture.client, fixture.get("/x"))
            let first = Task { try await call.fetch() }
            await fixture.transport.waitForRequests(1)
            let others = (0..<30).map { _ in Task { try await call.fetch().value } }
            await fixture.client.recent.waitForCallers(31)
            first.cancel()
            await expect(.cancelled) { _ = try await first.value }
            gate.open()
            for other in others {
                let value = try await other.value
                #expect(value == "1")
            }
            #expect(fixture.transport.requests.count == 1)
        }
    }

    @Test func timeoutEndsOnlyItsOwnWait() async throws {
        let gate = Gate()
        try await ScriptedClient.run { fixture in
            count(fixture, beforeHead: gate)
            let call = reusing(fixture.client, fixture.get("/x"))
            let hasty = Task { try await call.with { $0.timeout = .seconds(1) }.fetch() }
            await fixture.transport.waitForRequests(1)
            let patient = Task { try await call.fetch().value }
            await fixture.client.recent.waitForCallers(2)
            await fixture.sleeper.waitForDeadline(.seconds(1))
            fixture.sleeper.advance(by: .seconds(1))
            await expect(.timeout) { _ = try await hasty.value }
            gate.open()
            let value = try await patient.value
            #expect(value == "1")
        }
    }

    private struct Like: Endpoint {
        typealias Response = String
        var baseURL: String { ScriptedClient.url }
        var path: String
        var method: HTTPRequest.Method { .post }
        var invalidates: [StoreInvalidation] = []
    }

    @Test func mutationOrInvalidationEndsReuse() async throws {
        let causes: [@Sendable (ScriptedClient) async throws -> Void] = [
            { _ = try await $0.client.fetch(Like(path: "/x")) },
            { _ = try await $0.client.fetch(Like(path: "/y", invalidates: [.endpoint($0.get("/x"))])) },
            { _ = try await $0.client.fetch(Like(path: "/y", invalidates: [.tag("list")])) },
            { _ = try await $0.client.fetch(Like(path: "/y", invalidates: [.prefix(ScriptedClient.url)])) },
            { try await $0.store.invalidateResponses(for: TargetURI(Self.url)) },
        ]
        for (number, cause) in causes.enumerated() {
            try await ScriptedClient.run { fixture in
                count(fixture)
                for path in ["/x", "/y"] {
                    fixture.transport.script(ScriptedClient.url + path, method: .post, repeating: .ok("done"))
                }
                let call = reusing(fixture.client, fixture.get("/x"))
                let first = try await call.fetch().value
                try await cause(fixture)
                #expect(try await call.fetch().value != first, "\(number)")
            }
        }
    }

    @Test func exchangeDuringAMutationIsNotJoinedOrKept() async throws {
        let gate = Gate()
        try await ScriptedClient.run { fixture in
            fixture.transport.script(Self.url, method: .post, repeating: .ok("done"))
            fixture.script("/x", .ok("old", fields: Self.secret, beforeHead: gate), .ok("new", fields: Self.secret))
            let call = reusing(fixture.client, fixture.get("/x"))
            let before = Task { try await call.fetch().value }
            await fixture.transport.waitForRequests(1)
            _ = try await fixture.client.fetch(Like(path: "/x"))
            try await expectValue("new", call)
            gate.open()
            let old = try await before.value
            #expect(old == "old")
            try await expectValue("new", call)
        }
    }

    @Test func keptResponseIsRemovedAfterItsWindow() async throws {
        try await ScriptedClient.run { fixture in
            count(fixture)
            _ = try await reusing(fixture.client, fixture.get("/x")).fetch()
            let recent = fixture.client.recent
            #expect(recent.keptCount == 1)
            await fixture.sleeper.waitForDeadline(.milliseconds(2001))
            fixture.clock.advance(by: .milliseconds(2001))
            fixture.sleeper.advance(by: .milliseconds(2001))
            while recent.keptCount > 0, !Task.isCancelled { await Task.yield() }
        }
    }

    @Test func nothingIsKeptWithoutMemory() async throws {
        try await ScriptedClient.run(.init(reuseMemoryBytes: 0)) { fixture in
            count(fixture)
            let call = reusing(fixture.client, fixture.get("/x"))
            for number in 1...3 { try await expectValue("\(number)", call) }
            #expect(fixture.client.recent.keptCount == 0)
        }
    }

    @Test func closedClientReusesNothing() async throws {
        try await ScriptedClient.run { fixture in
            count(fixture)
            let call = reusing(fixture.client, fixture.get("/x"))
            _ = try await call.fetch()
            try await fixture.client.close()
            await expect(.closed) { _ = try await call.fetch() }
        }
    }
}

extension RecentExchanges {
    /// Returns when this many callers wait.
    func waitForCallers(_ count: Int) async {
        while waitingCount < count, !Task.isCancelled { await Task.yield() }
    }
}
