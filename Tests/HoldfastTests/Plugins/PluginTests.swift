import Foundation
import Holdfast
import HoldfastTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20))) struct PluginTests {
    private let events = Events()
    private static let fresh: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"1\""]

    private func configuration(_ plugins: any Plugin...) -> CachingClient.Configuration { .init(plugins: plugins) }

    @Test func hooksAreCalledInOrderForMissHitAndValidation() async throws {
        try await ScriptedClient.run(configuration(RecordingPlugin(events: events))) { fixture in
            fixture.script("/x", .ok("a", fields: Self.fresh), .status(.notModified, fields: Self.fresh))
            for _ in 0..<2 { _ = try await fixture.client.fetch(fixture.get("/x")) }
            fixture.clock.advance(by: .seconds(61))
            _ = try await fixture.client.fetch(fixture.get("/x"))
        }
        #expect(
            events.all == [
                "prepare network 1.0", "willSend 1.0", "didReceive 200 1.0", "process 200",
                // A stored response: no request is sent.
                "prepare network 2.0", "process 200",
                "prepare network 3.0", "willSend validation 3.0", "didReceive 304 3.0", "process 200",
            ]
        )
    }

    private struct Numbers: ObservingPlugin {
        let events: Events
        func willSend(_ request: SentRequest, for call: CallInfo) { events.append("\(call.number)") }
    }

    /// A plugin that only observes does not prevent the lookup in memory, which would prepare the
    /// call a second time.
    @Test func callsAreNumberedWithoutGaps() async throws {
        try await ScriptedClient.run(configuration(Numbers(events: events))) { fixture in
            for path in ["/1", "/2", "/3"] {
                fixture.script(path, .ok("a", fields: Self.fresh))
                _ = try await fixture.client.fetch(fixture.get(path))
            }
        }
        #expect(events.all == ["1", "2", "3"])
    }

    @Test func rejectedRequestIsRecoveredOnce() async throws {
        try await ScriptedClient.run(configuration(RecordingPlugin(events: events, recovers: true))) { fixture in
            fixture.script("/x", .status(.unauthorized), .ok("a"), .status(.unauthorized), .status(.unauthorized))
            let recovered = try await fixture.client.fetch(fixture.get("/x"))
            #expect(recovered.value == "a")
            await expect(.authenticationFailed) { _ = try await fixture.client.fetch(fixture.get("/x")) }
        }
        #expect(
            events.all == [
                "prepare network 1.0", "willSend 1.0", "didReceive 401 1.0", "recover 401 1.0",
                "prepare network 1.1", "willSend 1.1", "didReceive 200 1.1", "process 200",
                "prepare network 2.0", "willSend 2.0", "didReceive 401 2.0", "recover 401 2.0",
                "prepare network 2.1", "willSend 2.1", "didReceive 401 2.1", "process 401",
            ]
        )
    }

    /// A plugin can rewrite a result before it is delivered.
    @Test func pluginCanRewriteAResultBeforeDelivery() async throws {
        let rewriting = RecordingPlugin(events: events, onProcess: { $0.data += Data("!".utf8) })
        try await ScriptedClient.run(configuration(rewriting)) { fixture in
            fixture.script("/x", .ok("a", fields: Self.fresh), .ok("b", fields: Self.fresh))
            let endpoint = fixture.get("/x")
            let first = try await fixture.client.fetch(endpoint)
            #expect(first.value == "a!")
            let emissions = await fixture.client.startWith(endpoint).collected().emissions
            #expect(emissions.map(\.value) == ["a!", "b!"] && emissions.map(\.source) == [.store, .network])
            // The stored content is the one that arrived.
            let plain = fixture.client(.init())
            #expect(try await plain.stored(endpoint)?.value == "b")
        }
    }

    @Test func pluginCanTurnARejectionIntoASuccess() async throws {
        let forgiving = RecordingPlugin(events: events, onProcess: { $0.head.status = .ok })
        try await ScriptedClient.run(configuration(forgiving)) { fixture in
            fixture.script("/x", .status(.notFound, "nothing"))
            let emission = try await fixture.client.fetch(fixture.get("/x"))
            #expect(emission.value == "nothing")
        }
    }

    @Test func callPluginsRunAfterTheClients() async throws {
        try await ScriptedClient.run(configuration(RecordingPlugin(events: events, name: "client "))) { fixture in
            fixture.script("/x", .ok("a"))
            let call = fixture.client.call(fixture.get("/x")).with {
                $0.plugins = [RecordingPlugin(events: events, name: "call ")]
            }
            _ = try await call.fetch()
        }
        #expect(
            events.all == [
                "client prepare network 1.0", "call prepare network 1.0", "client willSend 1.0", "call willSend 1.0",
                "client didReceive 200 1.0", "call didReceive 200 1.0", "client process 200", "call process 200",
            ]
        )
    }

    @Test func principalOfAPluginPartitionsTheStore() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/me", .ok("anna's", fields: Self.fresh), .ok("bert's", fields: Self.fresh))
            let endpoint = fixture.get("/me", [.authorization: "Basic eA=="])
            for user in ["anna", "bert", "anna", "bert"] {
                let naming = RecordingPlugin(events: events, onPrepare: { request, _ in request.principal = user })
                let call = fixture.client.call(endpoint).with { $0.plugins = [naming] }
                let emission = try await call.fetch()
                #expect(emission.value == "\(user)'s")
            }
            #expect(fixture.transport.requests.count == 2)
        }
    }

    @Test func storedValueIsDeliveredWhileAPluginWaits() async throws {
        let gate = Gate()
        let slow = RecordingPlugin(
            events: events,
            isReady: false,
            onPrepare: { _, call in if call.purpose == .network { try await gate.wait() } }
        )
        try await ScriptedClient.run { fixture in
            let endpoint = fixture.get("/x")
            fixture.script("/x", .ok("a", fields: Self.fresh))
            _ = try await fixture.client.fetch(endpoint)
            let client = fixture.client(configuration(slow))
            #expect(try await client.fetch(endpoint).source == .store)
            #expect(try await client.fetch(endpoint, .storedFirst).source == .store)
            #expect(try await client.stored(endpoint)?.source == .store)
            fixture.clock.advance(by: .seconds(61))
            #expect(try await client.fetch(endpoint, .storedFirst).isStale)
            var stream = client.startWith(endpoint).makeAsyncIterator()
            #expect(try await stream.next()?.source == .store)
            // A stored value that must be validated waits.
            fixture.script("/x", .ok("b", fields: Self.fresh), .ok("b", fields: Self.fresh))
            gate.open()
            #expect(try await stream.next()?.value == "b")
        }
    }

    @Test func softTimeoutIncludesPlugins() async throws {
        let gate = Gate()
        let slow = RecordingPlugin(
            events: events,
            isReady: false,
            onPrepare: { _, call in if call.purpose == .network { try await gate.wait() } }
        )
        try await ScriptedClient.run { fixture in
            fixture.script("/x", .ok("a", fields: Self.fresh))
            _ = try await fixture.client.fetch(fixture.get("/x"))
            let client = fixture.client(configuration(slow))
            async let emission = client.fetch(fixture.get("/x"), .networkFirst(timeout: .seconds(2)))
            await fixture.sleeper.sleepers(atLeast: 1)
            fixture.sleeper.advance(by: .seconds(2))
            let stored = try await emission
            #expect(stored.source == .store)
        }
    }

    @Test func storedValueIsServedWhenAPluginFails() async throws {
        struct Unreachable: Error {}
        let failing = RecordingPlugin(
            events: events,
            isReady: false,
            onPrepare: { _, call in if call.purpose == .network { throw Unreachable() } }
        )
        try await ScriptedClient.run { fixture in
            let endpoint = fixture.get("/x")
            let client = fixture.client(configuration(failing))
            await expect(.transportFailed) { _ = try await client.fetch(endpoint) }
            fixture.script("/x", .ok("a", fields: Self.fresh))
            _ = try await fixture.client.fetch(endpoint)
            fixture.clock.advance(by: .seconds(61))
            for strategy in [SingleValueStrategy.standard, .networkFirst, .storedFirst] {
                let stored = try await client.fetch(endpoint, strategy)
                #expect(stored.source == .store && stored.isStale)
            }
            await expect(.transportFailed) { _ = try await client.fetch(endpoint, .networkOnly) }
            let stream = await client.startWith(endpoint).collected()
            #expect(stream.emissions.map(\.source) == [.store] && stream.failure == .transportFailed)
        }
    }

    @Test func oneCallHasOneNumber() async throws {
        try await ScriptedClient.run(configuration(RecordingPlugin(events: events, isReady: false))) { fixture in
            fixture.script("/x", .ok("a"), .ok("b"))
            _ = try await fixture.client.fetch(fixture.get("/x"))
            _ = await fixture.client.startWith(fixture.get("/x")).collected()
        }
        let preparing = events.all.filter { $0.hasPrefix("prepare") }
        #expect(
            preparing == ["prepare lookup 1.0", "prepare network 1.0", "prepare lookup 2.0", "prepare network 2.0"]
        )
    }

    @Test func offlineModeMakesEveryCallALookup() async throws {
        try await ScriptedClient.run(configuration(RecordingPlugin(events: events))) { fixture in
            fixture.client.mode = .offline
            await expect(.offlineMiss) { _ = try await fixture.client.fetch(fixture.get("/x")) }
            await expect(.offlineMiss) { _ = try await fixture.client.fetch(fixture.get("/x"), .networkOnly) }
        }
        #expect(events.all.allSatisfy { $0.hasPrefix("prepare lookup") } && !events.all.isEmpty)
    }

    @Test func unreadContentIsReportedAsAbandoned() async throws {
        let ended = Events()
        struct Watching: ObservingPlugin {
            let ended: Events
            var contentLimit: Int { 2 }
            func didEnd(
                _ content: ReceivedContent,
                of response: HTTPResponse,
                to request: SentRequest,
                for call: CallInfo
            ) {
                ended.append(
                    "\(content.ending) \(content.bytes) \(String(decoding: content.beginning, as: UTF8.self))"
                )
            }
        }
        try await ScriptedClient.run(configuration(Watching(ended: ended))) { fixture in
            fixture.script("/x", .ok("abcdef"), .status(.notFound, "no"))
            _ = try await fixture.client.fetch(fixture.get("/x"))
            _ = try? await fixture.client.fetch(fixture.get("/x"))
        }
        #expect(ended.all.first == "complete 6 ab" && ended.all.count == 2)
    }
}

@Suite(.timeLimit(.minutes(20))) struct FieldsPluginTests {
    @Test func fieldsAreCompletedReplacedOrAdded() async throws {
        let plugins: [any Plugin] = [
            FieldsPlugin([.userAgent: "harbour/3", .acceptLanguage: "de"]),
            FieldsPlugin([.accept: "text/css"], .replacing), FieldsPlugin([.cacheControl: "no-cache"], .appending),
            FieldsPlugin { [HTTPField.Name("X-Request-ID")!: "\($0.number).\($0.attempt)"] },
        ]
        try await ScriptedClient.run(.init(plugins: plugins)) { fixture in
            fixture.script("/x", .ok("a"))
            let own: HTTPFields = [.userAgent: "own", .accept: "text/html", .cacheControl: "max-age=0"]
            _ = try await fixture.client.fetch(fixture.get("/x", own))
            #expect(fixture.sent(.userAgent) == ["own"] && fixture.sent(.acceptLanguage) == ["de"])
            #expect(fixture.sent(.accept) == ["text/css"])
            #expect(fixture.sent(.cacheControl).first??.contains("no-cache") == true)
            #expect(fixture.sent(HTTPField.Name("X-Request-ID")!) == ["1.0"])
        }
    }

    @Test func secretsOfAPluginAreNotLogged() async throws {
        let log = CapturedLog()
        let tenant = HTTPField.Name("X-Tenant")!
        let plugins: [any Plugin] = [
            FieldsPlugin([tenant: "SECRET-a"], secrets: [tenant]),
            NetworkLogger(log.logger(), .init(form: .text, showsFields: true)),
        ]
        try await ScriptedClient.run(logger: log.logger(), .init(plugins: plugins)) { fixture in
            fixture.script("/x", .ok("a"))
            _ = try await fixture.client.fetch(fixture.get("/x"))
            #expect(fixture.sent(tenant) == ["SECRET-a"])
        }
        #expect(log.text.contains("X-Tenant: REDACTED") && !log.text.contains("SECRET"))
    }

    @Test func errorsShowNoSecretOfTheClient() async throws {
        let secrets = Secrets(parameters: ["appid"])
        let configuration = CachingClient.Configuration(
            defaults: RequestDefaults(parameters: ["appid": "SECRET"], secrets: secrets)
        )
        try await ScriptedClient.run(configuration) { fixture in
            fixture.script("/x?appid=SECRET", .status(.notFound), .ok(""))
            for _ in 0..<2 {
                do {
                    _ = try await fixture.client.fetch(fixture.get("/x"), as: Feed.self, .networkOnly)
                    Issue.record("There was a feed.")
                } catch {
                    #expect("\(error)".contains("a.example/x") && !"\(error)".contains("SECRET"))
                }
            }
        }
    }
}
