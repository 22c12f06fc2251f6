import HTTPCacheSemantics
import Testing

@testable import Holdfast

@Suite(.timeLimit(.minutes(20))) struct DownloadDecisionTests {
    /// A part of 500 of 1,000 bytes, with a tag.
    private func part(length: Int64 = 500, of total: StatedLength? = 1000, validator: String = "\"one\"") throws
        -> ResumablePart
    {
        let fields: HTTPFields = [.eTag: "\"one\""]
        var record = try #require(
            DownloadRecord(
                HTTPResponse(status: .ok, headerFields: fields),
                of: try TargetURI("https://a.example/film"),
                length: total,
                now: Timestamp(seconds: 0)
            )
        )
        record.validator = validator
        return ResumablePart(record: record, length: length)
    }

    private func decision(_ status: Int, _ fields: HTTPFields = [:], body: StatedLength? = nil, _ part: ResumablePart?)
        -> DownloadDecision
    {
        DownloadDecision(
            after: HTTPResponse(status: .init(code: status), headerFields: fields),
            bodyLength: body,
            resuming: part,
            accepted: .successful
        )
    }

    @Test(
        arguments: [
            ([.contentRange: "bytes 500-999/1000"], .write(from: 500, total: 1000)),
            ([.contentRange: "bytes 500-999/1000", .eTag: "\"one\""], .write(from: 500, total: 1000)),
            ([.contentRange: "bytes 500-999/*"], .write(from: 500, total: 1000)),
            ([.contentRange: "bytes 500-600/1000"], .write(from: 500, total: 1000)),
            ([.contentRange: "bytes 500-999/1000", .eTag: "\"two\""], .fetchWhole),
            ([.contentRange: "bytes 500-999/1000", .eTag: "W/\"one\""], .fetchWhole),
            ([.contentRange: "bytes 400-999/1000"], .fetchWhole),
            ([.contentRange: "bytes 501-999/1000"], .fetchWhole),
            ([.contentRange: "bytes 500-999/1001"], .fetchWhole),
            ([.contentRange: "octets 500-999/1000"], .fetchWhole),
            ([.contentType: "multipart/byteranges; boundary=x"], .fetchWhole),
        ] as [(HTTPFields, DownloadDecision)]
    )
    func partIsContinuedOnlyIfItFits(_ fields: HTTPFields, _ expected: DownloadDecision) throws {
        #expect(decision(206, fields, try part()) == expected)
    }

    @Test func partWithoutALengthHasNoEnd() throws {
        #expect(decision(206, [.contentRange: "bytes 500-999/*"], try part(of: nil)) == .fetchWhole)
        #expect(
            decision(206, [.contentRange: "bytes 500-999/1000"], try part(of: nil)) == .write(from: 500, total: 1000)
        )
    }

    @Test func unsatisfiedRangeCompletesOnlyAPartOfFullLength() throws {
        let whole = try part(length: 1000)
        #expect(decision(416, [.contentRange: "bytes */1000"], whole) == .complete)
        #expect(decision(416, [:], whole) == .complete)
        #expect(decision(416, [.contentRange: "bytes */900"], whole) == .fetchWhole)
        #expect(decision(416, [.contentRange: "bytes */1000", .eTag: "\"two\""], whole) == .fetchWhole)
        #expect(decision(416, [.contentRange: "bytes */500"], try part()) == .fetchWhole)
        #expect(decision(416, [:], try part(of: nil)) == .fetchWhole)
        #expect(decision(416, [.contentRange: "bytes */1000"], nil) == .reject)
    }

    @Test func completeResponseBeginsAnew() throws {
        #expect(decision(200, body: 800, try part()) == .write(from: 0, total: 800))
        #expect(decision(200, [:], nil) == .write(from: 0, total: nil))
    }

    @Test(arguments: [304, 404, 503]) func errorStatusIsRejected(_ status: Int) throws {
        #expect(decision(status, [:], try part()) == .reject)
    }
}
