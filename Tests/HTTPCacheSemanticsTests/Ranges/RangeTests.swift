import HTTPCacheSemantics
import HTTPTypes
import Testing

/// Ranges of a complete response, RFC 9110 §14.2.
@Suite(.timeLimit(.minutes(20)), .tags(.rfc9110Ranges))
struct RangeTests {
    private let policy = CachePolicy.private

    private func selection(_ range: String, length: Int64 = 100, _ extra: [(String, String)] = []) -> StoredSelection {
        policy.selection(of: storedWhole(), bodyLength: length, for: rangeRequest(range, extra))
    }

    @Test(
        arguments: [
            ("bytes=0-49", 0..<50), ("bytes=0-0", 0..<1), ("bytes=50-", 50..<100), ("bytes=0-", 0..<100),
            ("bytes=99-", 99..<100), ("bytes=50-1000", 50..<100), ("bytes=-10", 90..<100), ("bytes=-1000", 0..<100),
            ("BYTES=0-1", 0..<2), (" bytes=0-1 ", 0..<2), ("bytes= 0-1", 0..<2), ("bytes=,0-1,,", 0..<2),
            ("bytes=50-99999999999999999999999999", 50..<100), ("bytes=-99999999999999999999999999", 0..<100),
            ("bytes=50-9223372036854775807", 50..<100), ("bytes=0000000000000000000000000000050-51", 50..<52),
            // Unsatisfiable ones are dropped, and one part is not multipart. §15.3.7.2
            ("bytes=200-300, 10-19", 10..<20), ("bytes=-0, 10-19", 10..<20),
        ] as [(String, Range<StatedLength>)]
    )
    func servesOnePart(range: String, expected: Range<StatedLength>) {
        #expect(selection(range) == .range(expected, completeLength: 100))
    }

    @Test(
        arguments: [
            ("bytes=0-9,20-29", [0..<10, 20..<30]), ("bytes=20-29, 0-9", [20..<30, 0..<10]),
            ("bytes=0-9,-5", [0..<10, 95..<100]), ("bytes=0-9,90-", [0..<10, 90..<100]),
            // Adjacent and slightly overlapping ranges are served as requested.
            ("bytes=0-9,10-19", [0..<10, 10..<20]), ("bytes=0-9,5-14", [0..<10, 5..<15]),
        ] as [(String, [Range<StatedLength>])]
    )
    func servesSeveralParts(range: String, expected: [Range<StatedLength>]) {
        #expect(selection(range) == .ranges(expected, completeLength: 100))
    }

    @Test(arguments: ["bytes=100-", "bytes=100-200", "bytes=-0", "bytes=100-,200-", "bytes=99999999999999999999-"])
    func unsatisfiableRangesServeNothing(range: String) {
        #expect(selection(range) == .unsatisfiable(completeLength: 100))
    }

    @Test(arguments: [
        "", "bytes", "bytes=", "bytes=,", "bytes=-", "bytes=a-b", "bytes=5-4", "bytes=0-1,5-4", "bytes=0-1;",
        "bytes=0--1",
        "bytes=0-1 2-3", "bytes =0-1", "bytes=0 -1", "bytes=+1-2", "bytes:0-1", "items=0-1", "bytes=0-1-2", "0-1",
    ])
    func ignoresMalformedRangesAndUnknownUnits(range: String) {
        #expect(selection(range) == .complete)
    }

    @Test func ignoresARepeatedField() {
        let twice = request([("Range", "bytes=0-1"), ("Range", "bytes=0-1")])
        #expect(policy.selection(of: storedWhole(), bodyLength: 100, for: twice) == .complete)
    }

    @Test(arguments: ["HEAD", "POST", "PUT", "QUERY", "get"])
    func onlyGetHasRanges(method: String) throws {
        let method = try #require(HTTPRequest.Method(method))
        let other = request([("Range", "bytes=0-1")], method: method)
        #expect(policy.selection(of: storedWhole(), bodyLength: 100, for: other) == .complete)
    }

    @Test(arguments: [203, 204, 301, 404, 500])
    func onlyA200HasRanges(status: Int) {
        let head = stored([("ETag", "\"v1\"")], status: status)
        #expect(policy.selection(of: head, bodyLength: 100, for: rangeRequest("bytes=0-1")) == .complete)
    }

    @Test func emptyRepresentationHasNoParts() {
        #expect(selection("bytes=0-", length: 0) == .unsatisfiable(completeLength: 0))
        #expect(selection("bytes=-0", length: 0) == .unsatisfiable(completeLength: 0))
        // Satisfiable by §14.1.2, but no Content-Range could name the part.
        #expect(selection("bytes=-5", length: 0) == .complete)
    }

    // docs/attacks.md, 33. Mutant: without the cap and the coalescing in
    // `selectFromWhole(_:completeLength:maximumParts:)` all of these fail.
    @Test func coalescesManyRanges() {
        let adjacent = (0..<50).map { "\($0 * 2)-\($0 * 2 + 1)" }.joined(separator: ",")
        #expect(selection("bytes=\(adjacent)") == .range(0..<100, completeLength: 100))
        let overlapping = [String](repeating: "0-", count: 1000).joined(separator: ",")
        #expect(selection("bytes=\(overlapping)") == .range(0..<100, completeLength: 100))
        #expect(selection("bytes=0-79,40-99") == .range(0..<100, completeLength: 100))
        #expect(selection("bytes=50-99,0-9,40-99") == .ranges([0..<10, 40..<100], completeLength: 100))
    }

    @Test func servesTheWholeForTooManyParts() {
        func spread(_ count: Int) -> String {
            "bytes=" + (0..<count).map { "\($0 * 3)-\($0 * 3)" }.joined(separator: ",")
        }
        if case .ranges(let ranges, _) = selection(spread(16)) {
            #expect(ranges.count == 16)
        } else {
            Issue.record("16 parts are allowed")
        }
        #expect(selection(spread(17)) == .complete)
        // So many members are not even read.
        #expect(selection("bytes=" + [String](repeating: "0-0", count: 1025).joined(separator: ",")) == .complete)
        #expect(
            policy.selection(of: storedWhole(), bodyLength: 100, for: rangeRequest(spread(3)), maximumParts: 2)
                == .complete
        )
    }

    @Test func acceptsAnyLength() {
        for length in [Int64.min, -1, 0, 1, .max - 1, .max] {
            for range in ["bytes=0-", "bytes=-1", "bytes=-9223372036854775807", "bytes=0-9223372036854775807,1-2,-3"] {
                _ = selection(range, length: length)
            }
        }
        let last = StatedLength(clamping: Int64.max - 1)
        #expect(selection("bytes=-1", length: .max) == .range(last ..< .maximum, completeLength: .maximum))
    }
}

/// If-Range, RFC 9110 §13.1.5.
@Suite(.timeLimit(.minutes(20)), .tags(.rfc9110Ranges, .rfc9110Conditions))
struct IfRangeTests {
    private func serves(_ ifRange: String, _ pairs: [(String, String)]) -> Bool {
        let request = rangeRequest("bytes=0-1", [("If-Range", ifRange)])
        switch CachePolicy.private.selection(of: stored(pairs), bodyLength: 100, for: request) {
        case .range: return true
        default: return false
        }
    }

    @Test(
        arguments: [
            ("\"v1\"", "\"v1\"", true), ("\"v1\"", "\"v2\"", false), ("W/\"v1\"", "W/\"v1\"", false),
            ("W/\"v1\"", "\"v1\"", false), ("\"v1\"", "W/\"v1\"", false), ("\"V1\"", "\"v1\"", false),
            ("*", "\"v1\"", false),
            ("\"v1\", \"v2\"", "\"v1\"", false), ("v1", "v1", false), ("", "\"v1\"", false), ("\"\"", "\"\"", true),
        ]
    )
    func needsTheSameStrongEntityTag(given: String, stored: String, holds: Bool) {
        #expect(serves(given, [("ETag", stored), ("Date", noonDate)]) == holds)
    }

    @Test(
        arguments: [
            // Exactly the date, and a minute before Date: strong by §8.8.2.2.
            ("Sun, 01 Mar 2026 11:59:00 GMT", "Sun, 01 Mar 2026 11:59:00 GMT", true),
            ("Sunday, 01-Mar-26 11:59:00 GMT", "Sun, 01 Mar 2026 11:59:00 GMT", true),
            ("Sun, 01 Mar 2026 11:59:01 GMT", "Sun, 01 Mar 2026 11:59:01 GMT", false),
            ("Sun, 01 Mar 2026 12:00:00 GMT", "Sun, 01 Mar 2026 12:00:00 GMT", false),
            // Later is not exact.
            ("Sun, 01 Mar 2026 11:30:00 GMT", "Sun, 01 Mar 2026 11:00:00 GMT", false),
            ("Sun, 01 Mar 2026 10:30:00 GMT", "Sun, 01 Mar 2026 11:00:00 GMT", false),
            ("yesterday", "Sun, 01 Mar 2026 11:00:00 GMT", false), ("yesterday", "yesterday", false),
        ]
    )
    func needsExactlyAStrongDate(given: String, lastModified: String, holds: Bool) {
        #expect(serves(given, [("Last-Modified", lastModified), ("Date", noonDate)]) == holds)
    }

    @Test func lastModifiedIsWeakWithoutDate() {
        let date = "Sun, 01 Mar 2026 11:00:00 GMT"
        #expect(!serves(date, [("Last-Modified", date)]))
        #expect(!serves(date, [("Date", noonDate)]))
    }

    @Test func repeatedFieldDoesNotHold() {
        let twice = rangeRequest("bytes=0-1", [("If-Range", "\"v1\""), ("If-Range", "\"v1\"")])
        #expect(CachePolicy.private.selection(of: storedWhole(), bodyLength: 100, for: twice) == .complete)
    }

    @Test func isIgnoredWithoutRange() {
        let only = request([("If-Range", "\"other\"")])
        #expect(CachePolicy.private.selection(of: storedWhole(), bodyLength: 100, for: only) == .complete)
        #expect(
            CachePolicy.private.selection(of: storedPart("bytes 0-99/100"), bodyLength: 100, for: only) == .complete
        )
    }
}
