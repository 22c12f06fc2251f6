import Foundation
import Holdfast
import HoldfastTesting
import Testing

/// An application closes its client while something is under way.
@Suite(.timeLimit(.minutes(20))) struct ClosingScenarioTests {
    enum Ending: CaseIterable { case closing, cancelling }

    /// A plugin that holds every request back, as one that waits for the user does.
    private struct Waiting: PreparingPlugin {
        let isAsked = Gate()
        func prepare(_ request: inout CacheRequest, for call: CallInfo) async throws {
            isAsked.open()
            try await Gate().wait()
        }
        var isReady: Bool { false }
    }

    /// The error of `body` as text: the code, or the type's name.
    private static func ending(_ body: () async throws -> Void) async -> String {
        do {
            try await body()
            return "completed"
        } catch {
            return (error as? HoldfastError).map { "\($0.code)" } ?? "\(type(of: error))"
        }
    }

    private static func expected(_ ending: Ending) -> String {
        ending == .closing ? "closed" : "CancellationError"
    }

    private func raw(_ method: HTTPRequest.Method, _ path: String = "/x") -> CacheRequest {
        CacheRequest(head: HTTPRequest(method: method, scheme: "https", authority: "a.example", path: path))
    }

    // MARK: Raw exchanges

    @Test(arguments: [HTTPRequest.Method.get, .post], Ending.allCases)
    func rawExchangeEndsBeforeItsHead(method: HTTPRequest.Method, ending: Ending) async throws {
        try await ScriptedClient.run { fixture async throws in
            fixture.always("/x", .ok("", beforeHead: Gate()))
            let request = raw(method)
            let exchange = Task { await Self.ending { _ = try await fixture.client.respond(to: request) } }
            await fixture.transport.waitForRequests(1)
            if ending == .closing { try await fixture.client.close() } else { exchange.cancel() }
            #expect(await exchange.value == Self.expected(ending))
            guard ending == .closing else { return }
            #expect(await Self.ending { _ = try await fixture.client.respond(to: request) } == "closed")
        }
    }

    enum Content: CaseIterable { case stored, notStored, ofAMutation }

    /// A response that is stored is read by the fetch; the others are read by their caller.
    @Test(arguments: Content.allCases, Ending.allCases)
    func rawExchangeEndsInItsContent(content: Content, ending: Ending) async throws {
        try await ScriptedClient.run { fixture async throws in
            let directive = content == .notStored ? "no-store" : "max-age=60"
            let fields: HTTPFields = [.cacheControl: directive, .contentLength: "9"]
            fixture.always("/x", .ok("half", fields: fields, beforeEnd: Gate()))
            let method: HTTPRequest.Method = content == .ofAMutation ? .post : .get
            let (request, hasBegun) = (raw(method), Gate())
            let exchange = Task {
                await Self.ending {
                    let body = try await fixture.client.respond(to: request).body
                    for try await _ in body { hasBegun.open() }
                }
            }
            try await hasBegun.wait()
            if ending == .closing { try await fixture.client.close() } else { exchange.cancel() }
            #expect(await exchange.value == Self.expected(ending))
            // Nothing of the half is stored.
            var entries = 0
            for try await _ in fixture.store.entries() { entries += 1 }
            #expect(entries == 0)
        }
    }

    @Test func rawExchangesOfThirtyCallersEndAsClosed() async throws {
        try await ScriptedClient.run { fixture async throws in
            fixture.always("/x?key=secret-value", .ok("", beforeHead: Gate()))
            var request = raw(.get, "/x?key=secret-value")
            request.secretParameters = ["key"]
            let errors = try await withThrowingTaskGroup(of: HoldfastError?.self) { [request] group in
                for _ in 0..<30 {
                    group.addTask { await failure { _ = try await fixture.client.respond(to: request) } }
                }
                await fixture.transport.waitForRequests(1)
                try await fixture.client.close()
                return try await group.reduce(into: [HoldfastError?]()) { $0.append($1) }
            }
            #expect(errors.count == 30 && errors.allSatisfy { $0?.code == .closed })
            let texts = errors.map { "\($0?.message ?? "") \($0?.errorDescription ?? "")" }
            #expect(texts.allSatisfy { $0.contains("a.example/x") && !$0.contains("secret-value") }, "\(texts[0])")
        }
    }

    // MARK: The store by endpoint

    enum Access: CaseIterable { case update, key, invalidate, remove, stored }

    @Test(arguments: Access.allCases, Ending.allCases)
    func accessByEndpointEndsWhileAPluginWaits(access: Access, ending: Ending) async throws {
        let plugin = Waiting()
        try await ScriptedClient.run(.init(plugins: [plugin])) { fixture async throws in
            let (client, endpoint) = (fixture.client, fixture.get("/x"))
            let work = Task {
                await Self.ending {
                    switch access {
                    case .update: try await client.update(endpoint) { $0 += "!" }
                    case .key: _ = try await client.key(of: endpoint)
                    case .invalidate: try await client.invalidate(endpoint)
                    case .remove: try await client.remove(endpoint)
                    case .stored: _ = try await client.stored(endpoint)
                    }
                }
            }
            try await plugin.isAsked.wait()
            if ending == .closing { try await client.close() } else { work.cancel() }
            // A call of one value throws only the layer's own error.
            let isCode = access == .stored && ending != .closing
            #expect(await work.value == (isCode ? "cancelled" : Self.expected(ending)))
        }
    }

    // MARK: Between the parts of a call

    @Test func callEndsWithinItsSecondHop() async throws {
        try await ScriptedClient.run { fixture async throws in
            fixture.always("/from", .redirect(to: "/to?token=secret-value"))
            fixture.always("/to?token=secret-value", .ok("", beforeHead: Gate()))
            let call = Task { await failure { _ = try await fixture.client.fetch(Moving()) } }
            await fixture.transport.waitForRequests(2)
            try await fixture.client.close()
            let error = await call.value
            #expect(error?.code == .closed && error.map { !"\($0)".contains("secret-value") } == true)
        }
    }

    /// The authenticator belongs to the application, and still serves another client.
    @Test func callEndsWhileATokenIsRenewed() async throws {
        let gate = Gate()
        let source = ScriptedTokens("t2", gate: gate)
        let authenticator = try TokenAuthenticator(source, token: AccessToken("t1"), principal: "ada")
        try await ScriptedClient.run(.init(plugins: [authenticator])) { fixture async throws in
            fixture.script("/x", .status(.unauthorized), .ok("value"))
            let call = Task { await Self.ending { _ = try await fixture.client.fetch(fixture.get("/x")) } }
            while source.asked.isEmpty, !Task.isCancelled { await Task.yield() }
            try await fixture.client.close()
            #expect(await call.value == "closed")
            gate.open()
            #expect(try await authenticator.token().value == "t2")
            let other = fixture.client(.init(plugins: [authenticator]))
            #expect(try await other.fetch(fixture.get("/x")).value == "value")
            #expect(fixture.sent(.authorization) == ["Bearer t1", "Bearer t2"])
            try await other.close()
        }
    }

    private struct Substitute: SubstitutingPlugin {
        let asked = Events()
        func substitute(for failure: HoldfastError, of call: CallInfo) async throws -> ResponseContent? {
            asked.append("\(failure.code)")
            return ResponseContent(json: "[]")
        }
    }

    @Test func closingIsNotAnOutageForPlugins() async throws {
        let plugin = Substitute()
        try await ScriptedClient.run(.init(plugins: [plugin])) { fixture async throws in
            fixture.script("/x", .failure(.connect), .ok("", beforeHead: Gate()))
            #expect(try await fixture.client.fetch(fixture.get("/x")).value == "[]")
            #expect(plugin.asked.all == ["originUnreachable"])
            let call = Task { await Self.ending { _ = try await fixture.client.fetch(fixture.get("/x")) } }
            await fixture.transport.waitForRequests(2)
            try await fixture.client.close()
            #expect(await call.value == "closed" && plugin.asked.all.count == 1)
        }
    }

    // MARK: Screens

    @Test func callbackMayCloseItsClient() async throws {
        try await ScriptedClient.run { fixture async throws in
            fixture.script("/x", .fresh("1"), .ok("2", beforeHead: Gate()))
            _ = try await fixture.client.fetch(fixture.get("/x"))
            let events = Events()
            let subscription = fixture.client.startWith(fixture.get("/x")).subscribe(
                onNext: { emission in
                    events.append(emission.value)
                    try? await fixture.client.close()
                },
                onError: { events.append("\($0.code)") },
                onCompleted: { events.append("completed") }
            )
            await subscription.finished()
            #expect(events.all == ["1", "closed"])
        }
    }

    /// A list that loads its pages at once has the pages that arrived.
    @Test func pagesThatArrivedAreKept() async throws {
        try await ScriptedClient.run { fixture async throws in
            for page in 1...5 {
                fixture.always("/items?page=\(page)", page <= 2 ? .fresh("\(page)") : .ok("", beforeHead: Gate()))
            }
            let calls = (1...5).map { page in fixture.client.call(fixture.get("/items?page=\(page)")) }
            let pages = Task { try await calls.fetchEach(concurrently: 5) }
            await fixture.transport.waitForRequests(5)
            while fixture.client.inFlightFetchCount > 3, !Task.isCancelled { await Task.yield() }
            try await fixture.client.close()
            let results = try await pages.value.map { result in
                switch result {
                case .success(let emission): emission.value
                case .failure(let error): "\(error.code)"
                }
            }
            #expect(results == ["1", "2", "closed", "closed", "closed"])
            let again = fixture.client(.init(mode: .offline))
            #expect(try await again.fetch(fixture.get("/items?page=2")).value == "2")
            try await again.close()
        }
    }

    @Test func clientMayBeClosedByThirtyAtOnce() async throws {
        try await ScriptedClient.run { fixture async throws in
            fixture.always("/x", .ok("", beforeHead: Gate()))
            let endings = try await withThrowingTaskGroup(of: String?.self) { group in
                for _ in 0..<30 {
                    group.addTask { await Self.ending { _ = try await fixture.client.fetch(fixture.get("/x")) } }
                }
                await fixture.transport.waitForRequests(1)
                for _ in 0..<30 {
                    group.addTask {
                        try await fixture.client.close()
                        return nil
                    }
                }
                return try await group.reduce(into: [String?]()) { $0.append($1) }
            }
            #expect(endings.compactMap(\.self) == [String](repeating: "closed", count: 30) && endings.count == 60)
        }
    }
}
