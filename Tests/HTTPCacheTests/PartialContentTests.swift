import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import NIOCore
import Testing

/// Ranges from the store, parts in it, and putting them together. RFC 9110 §14, RFC 9111 §3.3, §3.4
@Suite struct PartialContentTests {
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
    func aStoredResponseAnswersARange(range: String, text: String, contentRange: String) async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .fresh(whole, etag: "\"1\""))
        try await fixture.get()
        let answer = try await fixture.get(url, [.range: range])
        #expect(answer.text == text)
        #expect(answer.response.head.status == .partialContent)
        #expect(answer.response.head.headerFields[.contentRange] == contentRange)
        #expect(answer.response.head.headerFields[.contentLength] == "\(text.utf8.count)")
        #expect(fixture.transport.requests.count == 1)
    }

    @Test func severalRangesAreMultipart() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .fresh(whole, etag: "\"1\""))
        try await fixture.get()
        let answer = try await fixture.get(url, [.range: "bytes=0-1, 8-"])
        let type = try #require(answer.response.head.headerFields[.contentType])
        #expect(type.hasPrefix("multipart/byteranges; boundary="))
        #expect(answer.response.head.headerFields[.contentLength] == "\(answer.text.utf8.count)")
        #expect(answer.text.contains("Content-Range: bytes 0-1/10\r\n\r\n01\r\n"))
        #expect(answer.text.contains("Content-Range: bytes 8-9/10\r\n\r\n89\r\n"))
    }

    @Test func whatCannotBeSatisfiedIs416() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .fresh(whole))
        try await fixture.get()
        let answer = try await fixture.get(url, [.range: "bytes=10-"])
        #expect(answer.response.head.status == .rangeNotSatisfiable)
        #expect(answer.response.head.headerFields[.contentRange] == "bytes */10")
        #expect(answer.text.isEmpty)
    }

    @Test(arguments: [("\"1\"", "234"), ("\"2\"", "0123456789"), ("W/\"1\"", "0123456789")])
    func ifRangeNeedsTheStrongValidator(tag: String, text: String) async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .fresh(whole, etag: "\"1\""))
        try await fixture.get()
        let answer = try await fixture.get(url, [.range: "bytes=2-4", .ifRange: tag])
        #expect(answer.text == text)
    }

    @Test func aConditionGoesBeforeARange() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .fresh(whole, etag: "\"1\""))
        try await fixture.get()
        let answer = try await fixture.get(url, [.range: "bytes=2-4", .ifNoneMatch: "\"1\""])
        #expect(answer.response.head.status == .notModified)
        #expect(answer.response.head.headerFields[.contentRange] == nil)
    }

    /// ATTACKS 17. Mutant: `partialStorability` replaced by `storability` of a 200 in
    /// `FillDecision.storability(of:)`.
    @Test func aPartIsNeverServedAsTheWhole() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, part(0..<5), .fresh(whole, etag: "\"2\""))
        let first = try await fixture.get(url, [.range: "bytes=0-4"])
        #expect(first.response.head.status == .partialContent)
        let second = try await fixture.get()
        #expect(second.text == whole)
        #expect(second.response.head.status == .ok)
    }

    @Test func aStoredPartAnswersWhatLiesInIt() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, part(2..<8))
        try await fixture.get(url, [.range: "bytes=2-7"])
        let again = try await fixture.get(url, [.range: "bytes=3-5"])
        #expect(again.text == "345")
        #expect(again.response.head.headerFields[.contentRange] == "bytes 3-5/10")
        #expect(again.response.outcome.isHit)
    }

    @Test func whatLiesOutsideIsAskedForAndPutTogether() async throws {
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

    @Test func aPartBeforeTheStoredOneIsPutInFront() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, part(5..<10), part(0..<7))
        try await fixture.get(url, [.range: "bytes=5-9"])
        let first = try await fixture.get(url, [.range: "bytes=0-6"])
        #expect(first.text == "0123456")
        let all = try await fixture.get()
        #expect(all.text == whole)
        #expect(fixture.transport.requests.count == 2)
    }

    @Test func theRestOfAStoredBeginningIsAskedForAlone() async throws {
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

    @Test func aRestOfAnotherRepresentationIsNotPutToTheBeginning() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, part(0..<4), part(4..<10, etag: "\"2\""), .fresh("abcdefghij", etag: "\"2\""))
        try await fixture.get(url, [.range: "bytes=0-3"])
        let all = try await fixture.get()
        #expect(all.text == "abcdefghij")
        #expect(fixture.transport.requests.last?.headerFields[.range] == nil)
    }

    @Test func theWholeThatComesInsteadOfTheRestReplacesThePart() async throws {
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

    @Test func aTruncatedPartBreaksOffAndIsNotStored() async throws {
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

    /// ATTACKS 17. Mutant: `storable != received` left out in `Fetcher.store`.
    @Test func aPartThatIsNotAsLongAsItsRangePassesAndIsNotStored() async throws {
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

    @Test func aPartDoesNotReplaceTheStoredWhole() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .ok(whole, fields: [.cacheControl: "max-age=60"]), part(0..<5, etag: "\"9\""))
        try await fixture.get()
        fixture.clock.advance(by: .seconds(120))
        // No validator: the range goes to the origin as it is.
        let answer = try await fixture.get(url, [.range: "bytes=0-4"])
        #expect(answer.text == "01234")
        #expect(fixture.memory.all.map(\.head.status) == [.ok])
        let offline = try await fixture.get(url, preference: .storedOnly)
        #expect(offline.text == whole)
    }

    @Test func offlineAStoredPartAnswersItsRangeAndNothingElse() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, part(0..<5))
        try await fixture.get(url, [.range: "bytes=0-4"])
        fixture.engine.mode = .offline
        let inside = try await fixture.get(url, [.range: "bytes=0-1"])
        #expect(inside.text == "01")
        #expect(await fixture.failure() == .offlineMiss)
        #expect(await fixture.failure(url, [.range: "bytes=4-5"]) == .offlineMiss)
    }
}
