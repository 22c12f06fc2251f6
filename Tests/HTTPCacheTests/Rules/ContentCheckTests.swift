import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import NIOCore
import Synchronization
import Testing

/// A caller's check of content before it is stored.
@Suite(.timeLimit(.minutes(20))) struct ContentCheckTests {
    private let url = EngineFixture.url

    private struct Failed: Error {}

    /// Accepts content that begins with `good`.
    private func request(
        _ fixture: EngineFixture,
        _ fields: HTTPFields = [:],
        maximumBytes: Int = 1 << 20,
        preference: CacheRequest.Preference = .standard
    ) throws -> CacheRequest {
        var request = try fixture.request(url, fields, preference: preference)
        request.contentCheck = ContentCheck(maximumBytes: maximumBytes) { _, content in
            guard String(buffer: content).hasPrefix("good") else { throw Failed() }
        }
        return request
    }

    private func text(_ fixture: EngineFixture, _ request: CacheRequest) async throws -> String {
        String(buffer: try await fixture.engine.respond(to: request).body.collect(upTo: 1 << 20))
    }

    @Test func passingContentIsStored() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .fresh("good"))
        #expect(try await text(fixture, request(fixture)) == "good")
        #expect(try await fixture.get(preference: .storedOnly).text == "good")
    }

    @Test func failingContentIsReadAndGoodDataStays() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .fresh("good"), .fresh("envelope of an error"))
        _ = try await text(fixture, request(fixture))
        fixture.clock.advance(by: .seconds(61))
        #expect(try await text(fixture, request(fixture)) == "envelope of an error")
        #expect(try await fixture.get(preference: .storedOnly).text == "good")
    }

    @Test func checkSeesStatusFieldsAndWholeContent() async throws {
        let fixture = EngineFixture()
        let long = String(repeating: "0123456789", count: 20_000)
        fixture.transport.script(url, .fresh(long))
        let seen = Mutex<(HTTPResponse, Int)?>(nil)
        var request = try fixture.request()
        request.contentCheck = ContentCheck(maximumBytes: 1 << 20) { response, content in
            seen.withLock { $0 = (response, content.readableBytes) }
        }
        _ = try await text(fixture, request)
        let found = try #require(seen.withLock { $0 })
        #expect(found.0.status == .ok && found.0.headerFields[.cacheControl] == "max-age=60")
        #expect(found.1 == long.utf8.count)
    }

    @Test(arguments: [true, false])
    func longerContentIsReadAndNotStored(isAnnounced: Bool) async throws {
        let fixture = EngineFixture()
        var fields: HTTPFields = [.cacheControl: "max-age=60"]
        if isAnnounced { fields[.contentLength] = "10" }
        fixture.transport.script(url, .ok("good 67890", fields: fields))
        #expect(try await text(fixture, request(fixture, maximumBytes: 9)) == "good 67890")
        #expect(await fixture.failure(preference: .storedOnly) == .offlineMiss)
    }

    @Test func contentAtLimitIsStored() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .fresh("good 67890"))
        _ = try await text(fixture, request(fixture, maximumBytes: 10))
        #expect(try await fixture.get(preference: .storedOnly).text == "good 67890")
    }

    @Test func readersGetBytesBeforeCheckEnds() async throws {
        let fixture = EngineFixture()
        let gate = Gate()
        fixture.transport.script(url, .fresh("good"))
        var request = try fixture.request()
        request.contentCheck = ContentCheck(maximumBytes: 100) { _, _ in try await gate.wait() }
        let response = try await fixture.engine.respond(to: request)
        var bytes = response.body.makeAsyncIterator()
        #expect(try await bytes.next() == ByteBuffer(string: "good"))
        gate.open()
        #expect(try await bytes.next() == nil)
        #expect(try await fixture.get(preference: .storedOnly).text == "good")
    }

    @Test func confirmedResponseIsNotCheckedAgain() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .fresh("good", etag: "\"1\""), .status(.notModified, fields: [.eTag: "\"1\""]))
        let count = Mutex(0)
        var request = try fixture.request()
        request.contentCheck = ContentCheck(maximumBytes: 100) { _, _ in count.withLock { $0 += 1 } }
        _ = try await text(fixture, request)
        fixture.clock.advance(by: .seconds(61))
        #expect(try await text(fixture, request) == "good")
        #expect(count.withLock { $0 } == 1)
        #expect(fixture.transport.requests.count == 2)
    }

    @Test func errorsAreNotChecked() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .status(.notFound, "gone", fields: [.cacheControl: "max-age=60"]))
        #expect(try await text(fixture, request(fixture)) == "gone")
        #expect(try await fixture.get().response.outcome.isHit)
    }

    @Test func backgroundRenewalIsChecked() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(
            url,
            .ok("good", fields: [.cacheControl: "max-age=60, stale-while-revalidate=600"]),
            .fresh("bad")
        )
        _ = try await text(fixture, request(fixture))
        fixture.clock.advance(by: .seconds(61))
        #expect(try await text(fixture, request(fixture)) == "good")
        await fixture.transport.waitForRequests(2)
        await fixture.untilIdle()
        #expect(try await fixture.get(preference: .storedOnly).text == "good")
    }

    @Test func partIsNotStoredButCompletedWholeIs() async throws {
        let fixture = EngineFixture()
        let fields: HTTPFields = [
            .cacheControl: "max-age=60", .eTag: "\"1\"", .contentRange: "bytes 0-3/8", .contentLength: "4",
        ]
        var rest = fields
        rest[.contentRange] = "bytes 4-7/8"
        fixture.transport.script(
            url,
            .status(.partialContent, "good", fields: fields),
            .status(.partialContent, "good", fields: fields),
            .status(.partialContent, "more", fields: rest)
        )
        #expect(try await text(fixture, request(fixture, [.range: "bytes=0-3"])) == "good")
        #expect(await fixture.failure(url, [.range: "bytes=0-3"], preference: .storedOnly) == .offlineMiss)
        // Stored by a caller without a check.
        _ = try await fixture.get(url, [.range: "bytes=0-3"])
        #expect(try await text(fixture, request(fixture)) == "goodmore")
        #expect(try await fixture.get(preference: .storedOnly).text == "goodmore")
    }

    @Test func olderResponseDoesNotReplaceNewerAfterSlowCheck() async throws {
        let fixture = EngineFixture()
        let gate = Gate()
        fixture.transport.script(url, .fresh("older"), .fresh("newer"))
        var slow = try fixture.request()
        slow.contentCheck = ContentCheck(maximumBytes: 100) { _, _ in try await gate.wait() }
        let older = try await fixture.engine.respond(to: slow)
        // A request with a condition joins no fetch.
        _ = try await fixture.get(url, [.ifNoneMatch: "\"x\""])
        gate.open()
        _ = try await older.body.collect(upTo: 100)
        #expect(try await fixture.get(preference: .storedOnly).text == "newer")
    }
}
