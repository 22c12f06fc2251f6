import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import NIOCore
import Testing

/// Ranges from the store, stored parts, and combining them. RFC 9110 §14, RFC 9111 §3.3, §3.4
@Suite(.timeLimit(.minutes(20))) struct PartialContentTests {
    private let url = EngineFixture.url
    private let whole = "0123456789"

    private func part(_ range: Range<Int>, etag: String = "\"1\"", of length: Int = 10) -> ScriptedTransport.Reply {
        .status(
            .partialContent,
            String(whole.dropFirst(range.lowerBound).prefix(range.count)),
            fields: [
                .cacheControl: "max-age=60", .eTag: etag,
                .contentRange: "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(length)",
            ]
        )
    }

    @Test(arguments: [
        ("bytes=2-4", "234", "bytes 2-4/10"), ("bytes=7-", "789", "bytes 7-9/10"), ("bytes=-2", "89", "bytes 8-9/10"),
        ("bytes=0-0", "0", "bytes 0-0/10"), ("bytes=8-100", "89", "bytes 8-9/10"),
    ])
    func storedResponseAnswersRange(range: String, text: String, contentRange: String) async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .fresh(whole, etag: "\"1\""))
        try await fixture.get()
        let result = try await fixture.get(url, [.range: range])
        #expect(result.text == text)
        #expect(result.response.head.status == .partialContent)
        #expect(result.response.head.headerFields[.contentRange] == contentRange)
        #expect(result.response.head.headerFields[.contentLength] == "\(text.utf8.count)")
        #expect(fixture.transport.requests.count == 1)
    }

    @Test func severalRangesGiveMultipart() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .fresh(whole, etag: "\"1\""))
        try await fixture.get()
        let result = try await fixture.get(url, [.range: "bytes=0-1, 8-"])
        let type = try #require(result.response.head.headerFields[.contentType])
        #expect(type.hasPrefix("multipart/byteranges; boundary="))
        #expect(result.response.head.headerFields[.contentLength] == "\(result.text.utf8.count)")
        #expect(result.text.contains("Content-Range: bytes 0-1/10\r\n\r\n01\r\n"))
        #expect(result.text.contains("Content-Range: bytes 8-9/10\r\n\r\n89\r\n"))
    }

    @Test func unsatisfiableRangeIs416() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .fresh(whole))
        try await fixture.get()
        let result = try await fixture.get(url, [.range: "bytes=10-"])
        #expect(result.response.head.status == .rangeNotSatisfiable)
        #expect(result.response.head.headerFields[.contentRange] == "bytes */10")
        #expect(result.text.isEmpty)
    }

    @Test(arguments: [("\"1\"", "234"), ("\"2\"", "0123456789"), ("W/\"1\"", "0123456789")])
    func ifRangeNeedsTheStrongValidator(tag: String, text: String) async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .fresh(whole, etag: "\"1\""))
        try await fixture.get()
        let result = try await fixture.get(url, [.range: "bytes=2-4", .ifRange: tag])
        #expect(result.text == text)
    }

    @Test func conditionIsEvaluatedBeforeRange() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .fresh(whole, etag: "\"1\""))
        try await fixture.get()
        let result = try await fixture.get(url, [.range: "bytes=2-4", .ifNoneMatch: "\"1\""])
        #expect(result.response.head.status == .notModified)
        #expect(result.response.head.headerFields[.contentRange] == nil)
    }

    /// docs/attacks.md, 17. Mutant: `partialStorability` replaced by `storability` of a 200 in
    /// `FetchDecision.storability(of:)`.
    @Test func partIsNeverServedAsWhole() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, part(0..<5), .fresh(whole, etag: "\"2\""))
        let first = try await fixture.get(url, [.range: "bytes=0-4"])
        #expect(first.response.head.status == .partialContent)
        let second = try await fixture.get()
        #expect(second.text == whole)
        #expect(second.response.head.status == .ok)
    }

    @Test func storedPartAnswersRangeWithinIt() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, part(2..<8))
        try await fixture.get(url, [.range: "bytes=2-7"])
        let again = try await fixture.get(url, [.range: "bytes=3-5"])
        #expect(again.text == "345")
        #expect(again.response.head.headerFields[.contentRange] == "bytes 3-5/10")
        #expect(again.response.outcome.isHit)
    }

    /// The whole representation may be much longer.
    @Test func changedPartIsReplacedByTheRequestedPart() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, part(2..<8), part(3..<6, etag: "\"2\""))
        try await fixture.get(url, [.range: "bytes=2-7"])
        fixture.clock.advance(by: .seconds(61))
        for isHit in [false, true] {
            let result = try await fixture.get(url, [.range: "bytes=3-5"])
            #expect(result.text == "345" && result.response.head.status == .partialContent)
            #expect(result.response.outcome.isHit == isHit)
        }
        let sent = try #require(fixture.transport.requests.last)
        #expect(sent.headerFields[.range] == "bytes=3-5" && sent.headerFields[.ifNoneMatch] == "\"1\"")
    }

    @Test func rangeBeyondStoredPartIsFetchedAndCombined() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, part(0..<5), part(4..<8), part(8..<10))
        try await fixture.get(url, [.range: "bytes=0-4"])
        let second = try await fixture.get(url, [.range: "bytes=4-7"])
        #expect(second.text == "4567")
        let inside = try await fixture.get(url, [.range: "bytes=1-6"])
        #expect(inside.text == "123456")
        try await fixture.get(url, [.range: "bytes=8-9"])
        let all = try await fixture.get()
        #expect(all.text == whole)
        #expect(all.response.head.status == .ok)
        #expect(all.response.head.headerFields[.contentRange] == nil)
        #expect(all.response.head.headerFields[.contentLength] == "10")
        #expect(all.response.outcome.isHit)
        #expect(fixture.transport.requests.count == 3)
    }

    @Test func earlierPartIsPutInFront() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, part(5..<10), part(0..<7))
        try await fixture.get(url, [.range: "bytes=5-9"])
        let first = try await fixture.get(url, [.range: "bytes=0-6"])
        #expect(first.text == "0123456")
        let all = try await fixture.get()
        #expect(all.text == whole)
        #expect(fixture.transport.requests.count == 2)
    }

    @Test func onlyRestOfStoredBeginningIsFetched() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, part(0..<4), part(4..<10))
        try await fixture.get(url, [.range: "bytes=0-3"])
        let all = try await fixture.get()
        #expect(all.text == whole)
        #expect(all.response.head.status == .ok)
        #expect(all.response.head.headerFields[.contentLength] == "10")
        #expect(all.response.outcome.forward == .partial)
        let request = try #require(fixture.transport.requests.last)
        #expect(request.headerFields[.range] == "bytes=4-")
        #expect(request.headerFields[.ifRange] == "\"1\"")
        let again = try await fixture.get()
        #expect(again.text == whole)
        #expect(again.response.outcome.isHit)
    }

    @Test func restOfAnotherRepresentationIsNotAppended() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, part(0..<4), part(4..<10, etag: "\"2\""), .fresh("abcdefghij", etag: "\"2\""))
        try await fixture.get(url, [.range: "bytes=0-3"])
        let all = try await fixture.get()
        #expect(all.text == "abcdefghij")
        #expect(fixture.transport.requests.last?.headerFields[.range] == nil)
    }

    @Test func wholeInsteadOfRestReplacesPart() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, part(0..<4), .fresh("abc", etag: "\"2\""))
        try await fixture.get(url, [.range: "bytes=0-3"])
        let all = try await fixture.get()
        #expect(all.text == "abc")
        let again = try await fixture.get()
        #expect(again.text == "abc")
        #expect(fixture.transport.requests.count == 2)
    }

    @Test func partsOfDifferentRepresentationsAreNotCombined() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, part(0..<5), part(5..<10, etag: "\"2\""), .fresh("whole"))
        try await fixture.get(url, [.range: "bytes=0-4"])
        try await fixture.get(url, [.range: "bytes=5-9"])
        let all = try await fixture.get()
        #expect(all.text == "whole")
    }

    @Test func truncatedPartBreaksOffAndIsNotStored() async throws {
        let fixture = EngineFixture()
        var short = part(0..<5)
        short.chunks = [ByteBuffer(string: "012")]
        short.head.headerFields[.contentLength] = "5"
        fixture.transport.script(url, short)
        await #expect(throws: BodyStreamError.truncated(expected: 5, received: 3)) {
            try await fixture.get(url, [.range: "bytes=0-4"])
        }
        #expect(fixture.memory.all.isEmpty)
    }

    /// docs/attacks.md, 17. Mutant: `storable != received` left out in `Fetcher.store`.
    @Test func partOfWrongLengthPassesAndIsNotStored() async throws {
        let fixture = EngineFixture()
        var short = part(0..<5)
        short.chunks = [ByteBuffer(string: "012")]
        fixture.transport.script(url, short, part(0..<5))
        let passed = try await fixture.get(url, [.range: "bytes=0-4"])
        #expect(passed.text == "012")
        #expect(fixture.memory.all.isEmpty)
        let again = try await fixture.get(url, [.range: "bytes=0-4"])
        #expect(again.text == "01234")
    }

    @Test func partDoesNotReplaceStoredWhole() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .ok(whole, fields: [.cacheControl: "max-age=60"]), part(0..<5, etag: "\"9\""))
        try await fixture.get()
        fixture.clock.advance(by: .seconds(120))
        // No validator: the range goes to the origin as it is.
        let result = try await fixture.get(url, [.range: "bytes=0-4"])
        #expect(result.text == "01234")
        #expect(fixture.memory.all.map(\.head.status) == [.ok])
        let offline = try await fixture.get(url, preference: .storedOnly)
        #expect(offline.text == whole)
    }

    @Test func storedPartAnswersOnlyItsRangeOffline() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, part(0..<5))
        try await fixture.get(url, [.range: "bytes=0-4"])
        fixture.engine.mode = .offline
        let inside = try await fixture.get(url, [.range: "bytes=0-1"])
        #expect(inside.text == "01")
        #expect(await fixture.failure() == .offlineMiss)
        #expect(await fixture.failure(url, [.range: "bytes=4-5"]) == .offlineMiss)
    }

    /// Mutant: `CombiningWriter.readBack` passes on the bytes after the part.
    @Test func slowReaderGetsOnlyItsPart() async throws {
        let fixture = EngineFixture()
        let (length, rest) = (2_000_000, 100)
        func part(_ range: Range<Int>) -> ScriptedTransport.Reply {
            let name = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(length + rest)"
            let fields: HTTPFields = [.eTag: "\"1\"", .contentRange: name, .cacheControl: "max-age=60"]
            let chunk = ByteBuffer(repeating: 0x61, count: range.count)
            return .init(head: HTTPResponse(status: .partialContent, headerFields: fields), chunks: [chunk])
        }
        fixture.transport.script(url, part(length..<(length + rest)), part(0..<length))
        try await fixture.get(url, [.range: "bytes=\(length)-\(length + rest - 1)"])
        let request = try fixture.request(url, [.range: "bytes=0-\(length - 1)"])
        let response = try await fixture.engine.respond(to: request)
        await fixture.untilIdle()
        #expect(fixture.memory.all.map(\.bodyLength) == [Int64(length + rest)])
        let body = try await response.body.collect(upTo: 1 << 30)
        #expect(body.readableBytes == length)
    }
}
