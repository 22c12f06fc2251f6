import HTTPCacheSemantics
import HTTPTypes
import Testing

@testable import HTTPCache

/// How long a stored body continues without a reader, as a value.
@Suite(.timeLimit(.minutes(20))) struct UnreadLimitTests {
    @Test func bodyOfUnknownLengthContinuesForASecondAndEightMiB() {
        let limit = UnreadLimit(length: nil, isBackground: false)
        #expect(limit.allowance(at: 0) == .goOn(for: .seconds(1)))
        #expect(limit.allowance(at: 8 << 20) == .goOn(for: .seconds(1)))
        #expect(limit.allowance(at: (8 << 20) + 1) == .end)
        #expect(limit.allowance(at: 8 << 20, since: 0) == .end)
    }

    @Test func bodyOfKnownLengthContinuesIfNearlyComplete() {
        let limit = UnreadLimit(length: 1_000_000, isBackground: false)
        #expect(limit.allowance(at: 10) == .goOn(for: .seconds(1)))
        // 100,000 bytes a second: nine more seconds are enough.
        #expect(limit.allowance(at: 100_000, since: 0) == .goOn(for: .seconds(9)))
        #expect(limit.allowance(at: 99_999, since: 0) == .end)
        #expect(limit.allowance(at: 999_999, since: 999_999) == .end)
        #expect(limit.allowance(at: 1_000_000, since: 999_999) == .goOnToTheEnd)
        #expect(limit.allowance(at: 1_000_000) == .goOnToTheEnd)
    }

    @Test func longDownloadDoesNotContinue() {
        let limit = UnreadLimit(length: StatedLength(clamping: 1 << 40), isBackground: false)
        #expect(limit.allowance(at: 100 << 20, since: 0) == .end)
        #expect(limit.allowance(at: .max >> 8, since: 0) == .goOnToTheEnd)
    }

    @Test(
        arguments: [
            "application/x-ndjson", "Application/X-NDJSON; charset=utf-8", "application/json-seq", "application/jsonl",
            "application/geo+json-seq", "application/ndjson", "application/stream+json",
        ]
    )
    func streamOfUnknownLengthDoesNotContinue(_ type: String) {
        let response = HTTPResponse(status: .ok, headerFields: [.contentType: type])
        for isBackground in [false, true] {
            #expect(UnreadLimit(response, length: nil, isBackground: isBackground).allowance(at: 1) == .end)
        }
        #expect(UnreadLimit(response, length: 9, isBackground: false).allowance(at: 1) == .goOn(for: .seconds(1)))
    }

    @Test(arguments: ["application/json", "text/html", "application/json; profile=\"x-ndjson\"", nil])
    func otherContentIsNoStream(_ type: String?) {
        var response = HTTPResponse(status: .ok)
        response.headerFields[.contentType] = type
        let limit = UnreadLimit(response, length: nil, isBackground: false)
        #expect(limit.allowance(at: 1) == .goOn(for: .seconds(1)))
    }

    @Test func backgroundFetchIsLimitedOnlyByBytes() {
        let unknown = UnreadLimit(length: nil, isBackground: true)
        #expect(unknown.allowance(at: 0) == .goOnToTheEnd && unknown.allowance(at: (8 << 20) + 1) == .end)
        #expect(
            UnreadLimit(length: StatedLength(clamping: 1 << 40), isBackground: true).allowance(at: 0) == .goOnToTheEnd
        )
    }
}
