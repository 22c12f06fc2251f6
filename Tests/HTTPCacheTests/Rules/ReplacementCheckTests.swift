import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import NIOCore
import Synchronization
import Testing

@testable import HTTPCache

/// Checks of responses that would replace a stored one.
@Suite(.timeLimit(.minutes(20))) struct ReplacementCheckTests {
    private let url = EngineFixture.url

    private struct Failed: Error {}

    /// Accepts content that begins with `good`.
    private func check(_ looks: Looks? = nil, kind: ContentCheckKind? = nil) -> ContentCheck {
        var check = ContentCheck(maximumBytes: 8 << 20) { head, content in
            looks?.note(content.readableBytes)
            guard head.status == .ok, content.getString(at: content.readerIndex, length: 4) == "good" else {
                throw Failed()
            }
        }
        check.isForReplacements = true
        check.kind = kind
        return check
    }

    /// The lengths of the content that checks saw.
    private final class Looks: Sendable {
        private let lengths = Mutex<[Int]>([])
        var all: [Int] { lengths.withLock { $0 } }
        func note(_ length: Int) { lengths.withLock { $0.append(length) } }
    }

    private func ask(
        _ fixture: EngineFixture,
        _ check: ContentCheck?,
        _ fields: HTTPFields = [:],
        preference: CacheRequest.Preference = .networkFirst
    ) async throws -> String {
        var request = try fixture.request(url, fields, preference: preference)
        request.contentCheck = check
        return String(buffer: try await fixture.engine.respond(to: request).body.collect(upTo: 16 << 20))
    }

    private func stored(_ fixture: EngineFixture, _ fields: HTTPFields = [:]) async throws -> String {
        try await fixture.get(url, fields, preference: .storedOnly).text
    }

    @Test func nothingIsCheckedIfNothingIsStored() async throws {
        let fixture = EngineFixture()
        let looks = Looks()
        fixture.transport.script(url, .fresh("bad"))
        #expect(try await ask(fixture, check(looks)) == "bad")
        #expect(try await stored(fixture) == "bad" && looks.all.isEmpty)
    }

    @Test func replacementMustPassCheck() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .fresh("good"), .fresh("bad"), .fresh("good, too"))
        for _ in 0..<3 { _ = try await ask(fixture, check()) }
        #expect(try await stored(fixture) == "good, too")
        fixture.transport.script(url, .fresh("bad"))
        #expect(try await ask(fixture, check()) == "bad")
        #expect(try await stored(fixture) == "good, too")
    }

    @Test(arguments: [301, 308, 204, 203, 300]) func replacementWithOtherStatusMustPassCheck(code: Int) async throws {
        let fixture = EngineFixture()
        fixture.transport.script(
            url,
            .fresh("good"),
            .status(HTTPResponse.Status(code: code), "good?", fields: [.cacheControl: "max-age=60"])
        )
        for _ in 0..<2 { _ = try await ask(fixture, check()) }
        #expect(try await stored(fixture) == "good")
    }

    @Test func responseForAllLanguagesHidesNoVariantUnlessItPasses() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(
            url,
            .ok("good", fields: [.cacheControl: "max-age=60", .vary: "accept-language"]),
            .fresh("bad")
        )
        _ = try await ask(fixture, check(), [.acceptLanguage: "en"])
        _ = try await ask(fixture, check(), [.acceptLanguage: "de"])
        #expect(try await stored(fixture, [.acceptLanguage: "en"]) == "good")
    }

    @Test func responseStoredMeanwhileIsNotReplacedUnchecked() async throws {
        let fixture = EngineFixture()
        let (first, second) = (Gate(), Gate())
        fixture.transport.script(url, .fresh("good", beforeHead: first), .fresh("bad", beforeHead: second))
        let older = Task { try await ask(fixture, check()) }
        await fixture.transport.waitForRequests(1)
        // A request with a condition joins no fetch.
        let newer = Task { try await ask(fixture, check(), [.ifNoneMatch: "\"x\""]) }
        await fixture.transport.waitForRequests(2)
        first.open()
        #expect(try await older.value == "good")
        second.open()
        #expect(try await newer.value == "bad")
        #expect(try await stored(fixture) == "good")
    }

    @Test func checkSeesContentBeyondWindow() async throws {
        let fixture = EngineFixture()
        let looks = Looks()
        let length = 3 * Int(InFlightBody.windowLimit) + 12_345
        let long = "good" + String(repeating: "0123456789", count: length / 10)
        fixture.transport.script(url, .fresh("good"))
        fixture.transport.script(
            url,
            ScriptedTransport.Reply(
                head: HTTPResponse(status: .ok, headerFields: [.cacheControl: "max-age=60"]),
                chunks: stride(from: 0, to: long.utf8.count, by: 50_000).map { start in
                    ByteBuffer(bytes: Array(long.utf8)[start..<min(start + 50_000, long.utf8.count)])
                }
            )
        )
        _ = try await ask(fixture, nil)
        #expect(try await ask(fixture, check(looks)) == long)
        #expect(looks.all == [long.utf8.count])
        #expect(try await stored(fixture) == long)
    }

    @Test func contentBeyondCheckLimitReplacesNothing() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .fresh("good"), .fresh("good but long"))
        _ = try await ask(fixture, nil)
        var short = check()
        short.maximumBytes = 5
        _ = try await ask(fixture, short)
        #expect(try await stored(fixture) == "good")
    }

    @Test func completingPartIsCheckedWithStoredPart() async throws {
        for rest in ["more", "evil"] {
            let fixture = EngineFixture()
            let fields: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"1\"", .contentLength: "4"]
            var (first, second) = (fields, fields)
            first[.contentRange] = "bytes 0-3/8"
            second[.contentRange] = "bytes 4-7/8"
            fixture.transport.script(
                url,
                .status(.partialContent, "good", fields: first),
                .status(.partialContent, rest, fields: second)
            )
            _ = try await ask(fixture, nil, [.range: "bytes=0-3"])
            var whole = ContentCheck(maximumBytes: 100) { _, content in
                guard String(buffer: content) == "goodmore" else { throw Failed() }
            }
            whole.isForReplacements = true
            #expect(try await ask(fixture, whole, [.range: "bytes=4-7"]) == rest)
            if rest == "more" {
                #expect(try await stored(fixture) == "goodmore")
            } else {
                #expect(await fixture.failure(preference: .storedOnly) == .offlineMiss)
            }
        }
    }

    // MARK: Callers of one fetch

    /// Lets callers share a fetch whose content would replace `good`.
    private func share(_ content: String, leader: ContentCheck?, _ joined: [ContentCheck]) async throws -> EngineFixture
    {
        let fixture = EngineFixture()
        let gate = Gate()
        fixture.transport.script(url, .fresh("good"), .fresh(content, beforeHead: gate))
        _ = try await ask(fixture, nil)
        fixture.clock.advance(by: .seconds(61))
        let first = Task { try await ask(fixture, leader) }
        await fixture.transport.waitForRequests(2)
        let others = joined.map { check in Task { try await ask(fixture, check) } }
        while fixture.engine.memberCount < 1 + joined.count, !Task.isCancelled { await Task.yield() }
        gate.open()
        for task in [first] + others { #expect(try await task.value == content) }
        return fixture
    }

    @Test func eachCallerHasItsOwnCheck() async throws {
        let lax = ContentCheck(maximumBytes: 100) { _, _ in }
        let fixture = try await share("bad", leader: lax, (0..<29).map { _ in lax } + [check()])
        #expect(try await stored(fixture) == "good")
    }

    @Test func leaderWithoutCheckBypassesNoCheck() async throws {
        let fixture = try await share("bad", leader: nil, [check()])
        #expect(try await stored(fixture) == "good")
    }

    @Test func equalChecksRunOnce() async throws {
        let looks = Looks()
        let way = Way()
        let one = check(looks, kind: ContentCheckKind(String.self, way: way))
        let fixture = EngineFixture()
        let gate = Gate()
        fixture.transport.script(url, .fresh("good"), .fresh("good, newer", beforeHead: gate))
        _ = try await ask(fixture, nil)
        let tasks = (0..<30).map { _ in Task { try await ask(fixture, one) } }
        while fixture.transport.requests.count < 2 || fixture.engine.memberCount < 30, !Task.isCancelled {
            await Task.yield()
        }
        gate.open()
        for task in tasks { #expect(try await task.value == "good, newer") }
        #expect(looks.all == [11])
    }

    private final class Way: Sendable {}

    @Test func callerWithLateCheckFetchesAgain() {
        let (way, other) = (Way(), Way())
        let kind = ContentCheckKind(String.self, way: way)
        let inFlight = InFlightFetch(
            fencingNumber: InvalidationSequence(0),
            check: check(kind: ContentCheckKind(String.self, way: other))
        )
        #expect(inFlight.join(check: check(kind: kind)))
        #expect(inFlight.takeChecks().count == 2)
        #expect(inFlight.join() && inFlight.join(check: check(kind: kind)))
        #expect(!inFlight.join(check: check()))
        #expect(!inFlight.join(check: check(kind: ContentCheckKind(Int.self, way: way))))
    }
}
