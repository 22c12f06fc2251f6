import Foundation
import HoldfastTesting
import Logging
import Synchronization
import TestSupport
import Testing

@testable import Holdfast

/// The result of a call when the network's response cannot be decoded as its type.
@Suite(.timeLimit(.minutes(20))) struct UndecodableResponseTests {
    private struct Number: Endpoint {
        typealias Response = [Int]
        var baseURL = ScriptedClient.url
        var path = "/n"
    }

    private static let html = ScriptedTransport.Reply.ok(
        "<html>",
        fields: [.contentType: "text/html", .cacheControl: "max-age=600"]
    )

    private static func numbers(_ text: String, _ more: HTTPFields = [:]) -> ScriptedTransport.Reply {
        .ok(text, fields: [.contentType: "application/json", .cacheControl: "max-age=60"] + more)
    }

    /// A client that has `[1]` stored, stale.
    private func run(
        _ configuration: CachingClient.Configuration = .init(),
        _ more: HTTPFields = [:],
        logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
        _ body: (ScriptedClient) async throws -> Void
    ) async throws {
        try await ScriptedClient.run(logger: logger, configuration) { fixture in
            fixture.script("/n", Self.numbers("[1]", more))
            _ = try await fixture.client.fetch(Number())
            fixture.clock.advance(by: .seconds(61))
            try await body(fixture)
        }
    }

    @Test(arguments: [SingleValueStrategy.standard, .networkFirst, .networkFirst(timeout: .seconds(3600))])
    func storedValueIsServedInstead(strategy: SingleValueStrategy) async throws {
        try await run { fixture in
            fixture.script("/n", Self.html)
            let emission = try await fixture.client.fetch(Number(), strategy)
            #expect(emission.value == [1] && emission.source == .store && emission.isStale)
            #expect(
                emission.outcome.cacheStatus() == "holdfast; fwd=stale; fwd-status=200; ttl=-1; detail=guarded"
            )
        }
    }

    @Test func thirtyCallersAllGetTheStoredValue() async throws {
        try await run { fixture in
            let gate = Gate()
            fixture.script("/n", .ok("{}", fields: [.cacheControl: "max-age=9"], beforeHead: gate))
            fixture.transport.script(ScriptedClient.url + "/n", repeating: Self.html)
            let values = try await withThrowingTaskGroup(of: [Int].self) { group in
                for index in 0..<30 {
                    group.addTask {
                        index % 2 == 0
                            ? try await fixture.client.fetch(Number(), .networkFirst).value
                            : try await fixture.client.call(Number()).map { $0.map { $0 } }.fetch(.networkFirst).value
                    }
                }
                while fixture.client.engine.memberCount < 30, !Task.isCancelled { await Task.yield() }
                gate.open()
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(values.count == 30 && values.allSatisfy { $0 == [1] })
        }
    }

    @Test func networkOnlyThrowsTheError() async throws {
        try await run { fixture in
            fixture.script("/n", Self.html)
            let error = await #expect(throws: HoldfastError.self) {
                _ = try await fixture.client.fetch(Number(), .networkOnly)
            }
            #expect(error?.code == .decodingFailed && error?.body == Array("<html>".utf8))
        }
    }

    @Test func errorIsThrownWithoutAStoredValue() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/n", Self.html)
            await expect(.decodingFailed) { _ = try await fixture.client.fetch(Number(), .networkFirst) }
        }
    }

    @Test func valueThatMayNotBeUsedStaleIsNotServed() async throws {
        try await run(.init(), [.cacheControl: "must-revalidate"]) { fixture in
            fixture.script("/n", Self.html)
            await expect(.decodingFailed) { _ = try await fixture.client.fetch(Number(), .networkFirst) }
        }
    }

    /// The caller gets the origin's own report of a failure.
    @Test func errorOfTheOriginIsThrown() async throws {
        try await run(.init(envelope: nil)) { fixture in
            let call = fixture.client.call(Number()).with { $0.envelope = .custom(Envelope()) }
            fixture.script("/n", Self.numbers(#"{"code":0,"data":[2]}"#), Self.numbers(#"{"code":5,"msg":"No."}"#))
            let value = try await call.fetch(.networkFirst).value
            #expect(value == [2])
            await expect(.envelope) { _ = try await call.fetch(.networkFirst) }
            let stored = try await call.stored()?.value
            #expect(stored == [2])
        }
    }

    @Test func streamsEmitTheStoredValueAndThenTheFailure() async throws {
        try await run { fixture in
            fixture.script("/n", Self.html, Self.html, Self.html)
            let thrown = await fixture.client.startWith(Number()).collected()
            #expect(thrown.emissions.map(\.value) == [[1]] && thrown.failure == .decodingFailed)
            let quiet = await fixture.client.startWith(Number(), ifNetworkFails: .endingQuietly).collected()
            #expect(quiet.emissions.map(\.value) == [[1]] && quiet.failure == nil)
            let events = Events()
            let fresh = await fixture.client.onCache(Number()) { events.append("\($0.value)") }.request().collected()
            #expect(events.all == ["[1]"] && fresh.emissions.isEmpty && fresh.failure == .decodingFailed)
        }
    }

    @Test func followingStreamContinuesAfterABadResponse() async throws {
        try await run { fixture in
            fixture.script("/n", Self.html, Self.numbers("[2]"))
            let call = fixture.client.call(Number()).with {
                $0.followsStore = true
                $0.networkFailure = .endingQuietly
            }
            let events = Events()
            let subscription = call.request().subscribe(
                onNext: { events.append("\($0.value)") },
                onError: { events.append("\($0.code)") }
            )
            await fixture.transport.waitForRequests(2)
            while fixture.client.inFlightFetchCount > 0, !Task.isCancelled { await Task.yield() }
            _ = try await fixture.client.fetch(Number(), .networkOnly)
            while events.all.count < 2, !Task.isCancelled { await Task.yield() }
            #expect(events.all == ["[1]", "[2]"])
            subscription.cancel()
            await subscription.finished()
        }
    }

    @Test func failureIsLoggedWithoutContent() async throws {
        let log = CapturedLog()
        try await run(logger: log.logger(.info)) { fixture in
            fixture.script("/n", .ok(#"["secret-1"]"#, fields: [.cacheControl: "max-age=9"]))
            _ = try await fixture.client.fetch(Number(), .networkFirst)
        }
        #expect(log.text.contains("Response not usable; using the stored response"))
        #expect(!log.text.contains("secret-1"))
    }

    /// The query of a URL may name a person.
    @Test func failureIsLoggedWithoutQuery() async throws {
        struct Page: Endpoint {
            typealias Response = Data
            let baseURL = ScriptedClient.url
            let path = "/n"
            var task: HTTPTask { .query(["user": "ada"]) }
        }
        struct Numbers: Endpoint {
            typealias Response = [Int]
            let baseURL = ScriptedClient.url
            let path = "/n"
            var task: HTTPTask { .query(["user": "ada"]) }
        }
        let log = CapturedLog()
        try await run(logger: log.logger(.info)) { fixture in
            fixture.script("/n?user=ada", Self.html)
            _ = try await fixture.client.fetch(Page())
            #expect(try await fixture.client.stored(Numbers()) == nil)
        }
        #expect(log.text.contains("Stored response not usable") && log.text.contains("/n?REDACTED"))
        #expect(!log.text.contains("ada"))
    }

    // MARK: Decoding once

    @Test func callerGetsTheValueThatTheCheckDecoded() async throws {
        let decoder = CountingDecoder()
        try await run(.init(decoder: decoder)) { fixture in
            #expect(decoder.count == 1)
            fixture.script("/n", Self.numbers("[2]"))
            let value = try await fixture.client.fetch(Number(), .networkFirst).value
            #expect(value == [2])
            #expect(decoder.count == 2)
            fixture.clock.advance(by: .seconds(61))
            fixture.script("/n", Self.numbers("[3]"))
            _ = await fixture.client.startWith(Number()).collected()
            // The stored value and the network's.
            #expect(decoder.count == 4)
            fixture.script("/n", Self.html)
            await expect(.decodingFailed) { _ = try await fixture.client.fetch(Number(), .networkOnly) }
            #expect(decoder.count == 5)
        }
    }

    @Test func stepsAndValidationsRunOnce() async throws {
        try await run { fixture in
            fixture.script("/n", Self.numbers("[2]"))
            let events = Events()
            let call = fixture.client.call(Number()).validate { _ in events.append("validated") }.map { numbers in
                events.append("mapped")
                return numbers.count
            }
            let value = try await call.fetch(.networkOnly).value
            #expect(value == 1)
            #expect(events.all == ["validated", "mapped"])
        }
    }

    @Test func envelopeTypeIsDecodedOnce() async throws {
        let decoder = CountingDecoder()
        try await ScriptedClient.run(.init(decoder: decoder)) { fixture in
            for index in 1...2 { fixture.script("/n", Self.numbers(#"{"code":200,"msg":"","data":[\#(index)]}"#)) }
            for index in 1...2 {
                let call = fixture.client.call(Number()).map(RootModel<[Int]>.self)
                let value = try await call.fetch(.networkOnly).value.data
                #expect(value == [index])
                #expect(decoder.count == index)
            }
        }
    }

    @Test func thirtyCallersDecodeAtMostThirtyTimes() async throws {
        let decoder = CountingDecoder()
        try await run(.init(decoder: decoder)) { fixture in
            let gate = Gate()
            fixture.script("/n", .ok("[2]", fields: [.cacheControl: "max-age=9"], beforeHead: gate))
            try await withThrowingTaskGroup(of: [Int].self) { group in
                for _ in 0..<30 { group.addTask { try await fixture.client.fetch(Number(), .networkFirst).value } }
                // A caller that comes later would find no response to join.
                while fixture.client.engine.memberCount < 30, !Task.isCancelled { await Task.yield() }
                gate.open()
                for try await value in group { #expect(value == [2]) }
            }
            #expect(decoder.count <= 31)
        }
    }

    // MARK: Checks of joined callers

    /// A caller that joins another's fetch brings its own check, whatever type the other decodes.
    @Test func fetchForAnotherTypeKeepsValuesOfJoinedCallers() async throws {
        try await run { fixture in
            let gate = Gate()
            fixture.script("/n", .ok("{}", fields: [.cacheControl: "max-age=9"], beforeHead: gate))
            fixture.transport.script(ScriptedClient.url + "/n", repeating: .ok("{}"))
            let bytes = Task { try await fixture.client.fetch(Number(), as: Data.self, .networkFirst).value }
            await fixture.transport.waitForRequests(2)
            let joined = (0..<30).map { _ in
                Task { try await fixture.client.fetch(Number(), .networkFirst) }
            }
            while fixture.client.engine.memberCount < 31, !Task.isCancelled { await Task.yield() }
            gate.open()
            #expect(try await bytes.value == Data("{}".utf8))
            for task in joined {
                let emission = try await task.value
                #expect(emission.value == [1] && emission.outcome.detail == .guarded)
            }
            #expect(fixture.transport.requests.count == 2)
            #expect(try await fixture.client.stored(Number())?.value == [1])
        }
    }

    @Test func mismatchedTypeKeepsValuesOfOtherTypes() async throws {
        struct Other: Decodable, Sendable { var somethingElse: Int }
        try await run { fixture in
            fixture.script("/n", Self.numbers("[2]"))
            await expect(.decodingFailed) {
                _ = try await fixture.client.fetch(Number(), as: Other.self, .networkFirst)
            }
            let stored = try await fixture.client.stored(Number())?.value
            #expect(stored == [1])
            fixture.script("/n", Self.numbers("[3]"))
            let value = try await fixture.client.fetch(Number(), .networkFirst).value
            #expect(value == [3])
            let kept = try await fixture.client.stored(Number())?.value
            #expect(kept == [3])
        }
    }

    // MARK: Stored responses that stay

    @Test func firstResponseIsStoredForTypesThatCanReadIt() async throws {
        try await ScriptedClient.run { fixture in
            struct Other: Decodable, Sendable { var somethingElse: Int }
            fixture.script("/n", Self.numbers("[1]"))
            await expect(.decodingFailed) { _ = try await fixture.client.fetch(Number(), as: Other.self) }
            let stored = try await fixture.client.stored(Number())?.value
            #expect(stored == [1])
        }
    }

    @Test func undecodableStoredResponseIsReplaced() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/n", Self.html, Self.numbers("[1]"))
            await expect(.decodingFailed) { _ = try await fixture.client.fetch(Number()) }
            let value = try await fixture.client.fetch(Number()).value
            #expect(value == [1])
            let stored = try await fixture.client.stored(Number())?.value
            #expect(stored == [1])
        }
    }

    @Test func undecodableVariantHidesNoOther() async throws {
        try await ScriptedClient.run { fixture in
            struct Worded: Endpoint {
                typealias Response = [Int]
                let baseURL = ScriptedClient.url
                let path = "/n"
                var language: String
                var headers: HTTPFields { [.acceptLanguage: language] }
            }
            fixture.script("/n", Self.numbers("[1]", [.vary: "accept-language"]), Self.html)
            _ = try await fixture.client.fetch(Worded(language: "en"))
            await expect(.decodingFailed) { _ = try await fixture.client.fetch(Worded(language: "de")) }
            fixture.client.mode = .offline
            #expect(try await fixture.client.fetch(Worded(language: "en")).value == [1])
        }
    }

    @Test func badResponseHidesNothingOfAnotherPrincipal() async throws {
        try await ScriptedClient.run { fixture in
            struct Own: Endpoint {
                typealias Response = [Int]
                let baseURL = ScriptedClient.url
                let path = "/n"
                var token: String?
                var headers: HTTPFields { token.map { [.authorization: "Bearer \($0)"] } ?? [:] }
            }
            fixture.script("/n", Self.numbers("[1]", [.cacheControl: "public"]), Self.numbers("[2]"), Self.html)
            _ = try await fixture.client.fetch(Own())
            _ = try await fixture.client.fetch(Own(token: "a"), .networkFirst)
            _ = try await fixture.client.fetch(Own(token: "b"), .networkFirst)
            fixture.client.mode = .offline
            for token in [nil, "a", "b"] {
                let value = try await fixture.client.fetch(Own(token: token)).value
                #expect([[1], [2]].contains(value), "\(token ?? "nobody")")
            }
        }
    }

    @Test func headOfAPageKeepsValuesReadableOffline() async throws {
        struct Head: Endpoint {
            typealias Response = NoContent
            let baseURL = ScriptedClient.url
            let path = "/n"
            let method = HTTPRequest.Method.head
        }
        try await run { fixture in
            fixture.transport.script(
                ScriptedClient.url + "/n",
                method: .head,
                .ok("", fields: [.contentType: "text/html", .contentLength: "900", .cacheControl: "max-age=600"])
            )
            _ = try await fixture.client.fetch(Head(), .networkFirst)
            fixture.client.mode = .offline
            #expect(try await fixture.client.fetch(Number()).value == [1])
        }
    }

    // MARK: Content as bytes

    @Test func htmlPageDoesNotReplaceBytes() async throws {
        try await run { fixture in
            fixture.script(
                "/n",
                Self.html,
                Self.html,
                .ok("", fields: [.contentLength: "0", .cacheControl: "max-age=9"])
            )
            let bytes = try await fixture.client.fetch(Number(), as: Data.self, .networkFirst)
            #expect(bytes.value == Data("[1]".utf8) && bytes.outcome.detail == .guarded)
            let text = try await fixture.client.fetch(Number(), as: String.self)
            #expect(text.value == "[1]" && text.outcome.detail == .guarded)
            let empty = try await fixture.client.fetch(Number(), as: Data.self, .networkFirst)
            #expect(empty.value == Data("[1]".utf8))
        }
    }

    /// An image may become one of another format, so other media types are accepted.
    @Test func bytesOfAnotherMediaTypeAreAccepted() async throws {
        try await ScriptedClient.run { fixture in
            for type in ["image/png", "image/webp"] {
                fixture.script("/n", .ok(type, fields: [.contentType: type, .cacheControl: "max-age=9"]))
                let value = try await fixture.client.fetch(Number(), as: Data.self, .networkFirst).value
                #expect(value == Data(type.utf8))
            }
            #expect(
                try await fixture.client.stored(Number(), as: Data.self)?.value == Data("image/webp".utf8)
            )
        }
    }

    @Test func htmlPagesAreAcceptedOnRequest() async throws {
        var configuration = CachingClient.Configuration()
        configuration.goodDataGuard = nil
        try await run(configuration) { fixture in
            fixture.script("/n", Self.html)
            let value = try await fixture.client.fetch(Number(), as: String.self, .networkFirst).value
            #expect(value == "<html>")
            let stored = try await fixture.client.stored(Number(), as: String.self)?.value
            #expect(stored == "<html>")
        }
    }

    /// Decoding is the check of a decoded value: the server may give its JSON any media type.
    @Test func decodableValueOfAnotherMediaTypeIsAccepted() async throws {
        try await run { fixture in
            fixture.script("/n", .ok("[2]", fields: [.contentType: "text/html", .cacheControl: "max-age=9"]))
            let value = try await fixture.client.fetch(Number()).value
            #expect(value == [2])
            let stored = try await fixture.client.stored(Number())?.value
            #expect(stored == [2])
        }
    }

    // MARK: Plugins, late responses, downloads

    /// Mends content, and counts how often.
    private final class Mending: ProcessingPlugin {
        let events = Events()
        func process(_ content: inout ResponseContent, for call: CallInfo) throws {
            events.append("processed")
            if content.data == Data("{}".utf8) { content.data = Data("[2]".utf8) }
        }
    }

    @Test func contentMendedByAPluginIsProcessedOnce() async throws {
        let mending = Mending()
        try await run { fixture in
            fixture.script("/n", Self.numbers("{}"))
            let call = fixture.client.call(Number()).with { $0.plugins = [mending] }
            let value = try await call.fetch(.networkOnly).value
            #expect(value == [2])
            #expect(mending.events.all == ["processed"])
            let stored = try await call.stored()?.value
            #expect(stored == [2])
        }
    }

    @Test func lateResponseIsCheckedAfterItsCallerReturned() async throws {
        try await run { fixture in
            let gate = Gate()
            fixture.script("/n", .ok("{}", fields: [.cacheControl: "max-age=600"], beforeHead: gate))
            let call = Task { try await fixture.client.fetch(Number(), .networkFirst(timeout: .seconds(1))) }
            await fixture.transport.waitForRequests(2)
            while fixture.sleeper.sleeperCount < 2, !Task.isCancelled { await Task.yield() }
            fixture.sleeper.advance(by: .seconds(1))
            let early = try await call.value
            #expect(early.value == [1] && early.outcome.detail == .slow)
            gate.open()
            while fixture.client.inFlightFetchCount > 0, !Task.isCancelled { await Task.yield() }
            #expect(try await fixture.client.stored(Number())?.value == [1])
        }
    }

    @Test func eagerRenewalIsChecked() async throws {
        var configuration = CachingClient.Configuration()
        configuration.options.eagerRefresh = 0.5
        try await ScriptedClient.run(configuration) { fixture in
            fixture.script("/n", Self.numbers("[1]"), Self.html)
            _ = try await fixture.client.fetch(Number())
            fixture.clock.advance(by: .seconds(40))
            #expect(try await fixture.client.fetch(Number()).value == [1])
            await fixture.transport.waitForRequests(2)
            while fixture.client.inFlightFetchCount > 0, !Task.isCancelled { await Task.yield() }
            #expect(try await fixture.client.stored(Number())?.value == [1])
        }
    }

    @Test func unregistrablePersistedQueryIsServedFromTheStore() async throws {
        struct Query: Endpoint {
            typealias Response = [Int]
            let baseURL = ScriptedClient.url
            let path = "/graphql"
            let valuePath: ValuePath = "data"
            var task: HTTPTask { .graphQL(GraphQLOperation("{ n }", form: .persisted)) }
        }
        try await ScriptedClient.run { fixture in
            let path = try #require(try fixture.client.request(for: Query()).head.path)
            fixture.script(
                path,
                Self.numbers(#"{"data":[1]}"#),
                .ok(#"{"errors":[{"message":"PersistedQueryNotFound"}]}"#, fields: [.cacheControl: "max-age=600"])
            )
            fixture.transport.script(ScriptedClient.url + "/graphql", method: .post, Self.html)
            _ = try await fixture.client.fetch(Query())
            fixture.clock.advance(by: .seconds(61))
            let emission = try await fixture.client.fetch(Query(), .networkFirst)
            #expect(emission.value == [1] && emission.outcome.detail == .guarded)
            #expect(try await fixture.client.stored(Query())?.value == [1])
        }
    }

    @Test func downloadedPageIsRejected() async throws {
        struct File: Endpoint {
            typealias Response = Data
            let baseURL = ScriptedClient.url
            let path = "/n"
            let storage = CacheRequest.Storage.expiring(.after(.seconds(60)))
        }
        let folder = try TemporaryFolder()
        let path = folder.path + "/file"
        try await ScriptedClient.run { fixture in
            fixture.script("/n", Self.numbers("[1]"), Self.html)
            _ = try await fixture.client.fetch(File())
            fixture.clock.advance(by: .seconds(61))
            let file = try await fixture.client.download(File(), to: DownloadDestination(path))
            #expect(file.source == .store)
            #expect(FileManager.default.contents(atPath: path) == Data("[1]".utf8))
            #expect(try await fixture.client.stored(File())?.value == Data("[1]".utf8))
        }
    }
}

extension HTTPFields {
    fileprivate static func + (first: HTTPFields, second: HTTPFields) -> HTTPFields {
        var both = first
        for field in second { both.append(field) }
        return both
    }
}
