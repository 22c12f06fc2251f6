import HTTPCacheSemantics
import HTTPTypes
import Testing

/// Serving from a stored part, RFC 9111 §3.3.
@Suite(.timeLimit(.minutes(20)), .tags(.rfc9111Combining))
struct PartialSelectionTests {
    private let policy = CachePolicy.private

    private func selection(_ contentRange: String, _ bodyLength: Int64, _ range: String?) -> StoredSelection {
        let request = range.map { rangeRequest($0) } ?? request()
        return policy.selection(of: storedPart(contentRange), bodyLength: bodyLength, for: request)
    }

    @Test(
        arguments: [
            ("bytes=10-19", 10..<20), ("bytes=15-16", 15..<17), ("bytes=10-10", 10..<11),
        ] as [(String, Range<StatedLength>)]
    )
    func servesARangeWithinThePart(range: String, expected: Range<StatedLength>) {
        #expect(selection("bytes 10-19/100", 10, range) == .range(expected, completeLength: 100))
        #expect(selection("bytes 10-19/*", 10, range) == .range(expected, completeLength: nil))
    }

    @Test func servesSeveralRangesWithinThePart() {
        #expect(
            selection("bytes 10-19/100", 10, "bytes=18-19,10-11") == .ranges([18..<20, 10..<12], completeLength: 100)
        )
        #expect(selection("bytes 10-19/*", 10, "bytes=10-11,12-13") == .range(10..<14, completeLength: nil))
        // Without the complete length a multipart response cannot be written.
        #expect(selection("bytes 10-19/*", 10, "bytes=10-11,18-19").missing != nil)
    }

    @Test func servesOpenRangesOnlyWithACompleteLength() {
        #expect(selection("bytes 90-99/100", 10, "bytes=-5") == .range(95..<100, completeLength: 100))
        #expect(selection("bytes 90-99/100", 10, "bytes=95-") == .range(95..<100, completeLength: 100))
        #expect(selection("bytes 90-99/100", 10, "bytes=95-200") == .range(95..<100, completeLength: 100))
        #expect(selection("bytes 90-99/*", 10, "bytes=-5") == .missing(MissingPart(range: nil, completeLength: nil)))
        #expect(selection("bytes 90-99/*", 10, "bytes=95-") == .missing(MissingPart(range: nil, completeLength: nil)))
        #expect(
            selection("bytes 90-99/*", 10, "bytes=95-200")
                == .missing(MissingPart(range: 100..<201, completeLength: nil))
        )
    }

    @Test func rangeBeyondTheEndIsUnsatisfiable() {
        #expect(selection("bytes 90-99/100", 10, "bytes=100-") == .unsatisfiable(completeLength: 100))
    }

    @Test(
        arguments: [
            ("bytes 10-19/100", "bytes=0-14", 0..<10), ("bytes 10-19/100", "bytes=15-24", 20..<25),
            ("bytes 10-19/100", "bytes=5-24", 5..<25), ("bytes 10-19/100", "bytes=50-59", 50..<60),
            ("bytes 10-19/100", "bytes=10-11,15-29", 20..<30), ("bytes 10-19/100", "bytes=-5", 95..<100),
            ("bytes 0-19/100", nil, 20..<100), ("bytes 10-99/100", nil, 0..<10), ("bytes 10-19/100", nil, 0..<100),
            ("bytes 0-19/100", "items=0-1", 20..<100),
        ] as [(String, String?, Range<StatedLength>)]
    )
    func namesTheMissingPart(contentRange: String, range: String?, missing: Range<StatedLength>) throws {
        let held = try #require(ContentRange(fields([("Content-Range", contentRange)]))).range
        #expect(
            selection(contentRange, Int64(held.length.number), range)
                == .missing(MissingPart(range: missing, completeLength: 100))
        )
    }

    @Test func servesTheWholeOnlyIfAllIsStored() {
        #expect(selection("bytes 0-99/100", 100, nil) == .complete)
        #expect(selection("bytes 0-98/100", 99, nil).missing != nil)
        #expect(selection("bytes 0-99/*", 100, nil).missing != nil)
    }

    // docs/attacks.md, 17. Mutant: without the comparison with `bodyLength` in `selection` bytes
    // beyond the body are named.
    @Test(arguments: [0, 9, 11, -1, Int64.max, .min])
    func bodyOfAnotherLengthServesNothing(length: Int64) {
        #expect(selection("bytes 10-19/100", length, "bytes=10-11").missing != nil)
        #expect(selection("bytes 10-19/100", length, nil).missing != nil)
    }

    @Test func partWithoutContentRangeServesNothing() {
        #expect(selection("bytes x", 10, "bytes=0-1").missing != nil)
        #expect(selection("bytes x", 10, nil).missing != nil)
    }

    @Test func failedIfRangeRequestsTheWhole() {
        let request = rangeRequest("bytes=10-11", [("If-Range", "\"v2\"")])
        #expect(policy.selection(of: storedPart("bytes 10-19/100"), bodyLength: 10, for: request).missing != nil)
    }

    @Test func servesHeadOnlyFromTheWhole() {
        let head = request(method: .head)
        #expect(policy.selection(of: storedPart("bytes 0-9/100"), bodyLength: 10, for: head).missing != nil)
        #expect(policy.selection(of: storedPart("bytes 0-9/10"), bodyLength: 10, for: head) == .complete)
    }
}

/// Storing a part, RFC 9111 §3.3, §3.4.
@Suite(.timeLimit(.minutes(20)), .tags(.rfc9111Storing, .rfc9111Combining))
struct PartialStorabilityTests {
    private func storability(
        _ pairs: [(String, String)],
        request: HTTPRequest = rangeRequest("bytes=0-9"),
        status: Int = 206,
        policy: CachePolicy = .private,
        hasExplicitExpiry: Bool = false
    ) -> Storability {
        policy.partialStorability(
            of: response(pairs, status: status),
            to: request,
            hasCredentials: false,
            hasExplicitExpiry: hasExplicitExpiry
        )
    }
    private let good = [("Content-Range", "bytes 0-9/100"), ("Cache-Control", "max-age=60")]

    @Test func storesASinglePart() {
        #expect(storability(good) == .common)
        #expect(storability(good + [("Content-Length", "10")]) == .common)
        #expect(storability([("Content-Range", "bytes 0-9/*"), ("ETag", "\"v1\"")]) == .common)
        #expect(storability([("Content-Range", "bytes 0-9/*"), ("Last-Modified", noonDate)]) == .common)
        #expect(storability([("Content-Range", "bytes 0-9/*"), ("Expires", "0")]) == .common)
        #expect(storability([("Content-Range", "bytes 0-9/*")], hasExplicitExpiry: true) == .common)
    }

    // docs/attacks.md, 17. Mutant: with `return ContentRange(fields)` in `part(_:)` the lengths and
    // the multipart pass.
    @Test(
        arguments: [
            [("Cache-Control", "max-age=60")],
            [("Cache-Control", "max-age=60"), ("Content-Range", "bytes 9-0/100")],
            [("Cache-Control", "max-age=60"), ("Content-Range", "bytes 0-9/100"), ("Content-Length", "9")],
            [("Cache-Control", "max-age=60"), ("Content-Range", "bytes 0-9/100"), ("Content-Length", "100")],
            [("Cache-Control", "max-age=60"), ("Content-Range", "bytes 0-9/100"), ("Content-Length", "ten")],
            [
                ("Cache-Control", "max-age=60"), ("Content-Range", "bytes 0-9/100"), ("Content-Length", "10"),
                ("Content-Length", "11"),
            ],
            [
                ("Cache-Control", "max-age=60"), ("Content-Range", "bytes 0-9/100"),
                ("Content-Type", "Multipart/ByteRanges; boundary=x"),
            ],
            [("Cache-Control", "max-age=60"), ("Content-Type", "multipart/byteranges; boundary=x")],
            // Neither a lifetime nor a validator.
            [("Content-Range", "bytes 0-9/100")],
            [("Content-Range", "bytes 0-9/100"), ("Last-Modified", "yesterday"), ("ETag", "v1")],
        ]
    )
    func storesNothingButASinglePart(pairs: [(String, String)]) {
        #expect(storability(pairs) == .forbidden(.partialContent))
    }

    @Test func storesOnlyResponsesToAGetWithRange() {
        #expect(storability(good, request: request()) == .forbidden(.partialContent))
        let post = request([("Range", "bytes=0-9")], method: .post)
        #expect(storability(good, request: post) == .forbidden(.partialContent))
        #expect(storability(good, status: 200) == .forbidden(.partialContent))
    }

    @Test func otherRulesAreThoseForA200() {
        #expect(storability(good + [("Cache-Control", "no-store")]) == .forbidden(.responseNoStore))
        #expect(storability(good + [("Vary", "*")]) == .forbidden(.varyAny))
        #expect(storability(good + [("Cache-Control", "private")], policy: .shared) == .forbidden(.privateResponse))
        let noStore = rangeRequest("bytes=0-9", [("Cache-Control", "no-store")])
        #expect(storability(good, request: noStore) == .forbidden(.requestNoStore))
    }

    @Test func storabilityRejectsA206() {
        #expect(
            CachePolicy.private.storability(
                of: response(good, status: 206),
                to: rangeRequest("bytes=0-9"),
                hasCredentials: false
            ) == .forbidden(.partialContent)
        )
    }

    @Test func truncatedResponseBecomesAPart() throws {
        let whole = storedWhole([("Content-Length", "100")])
        let part = try #require(CachePolicy.private.incomplete(whole, receivedLength: 40))
        #expect(part.partialRange == ContentRange(range: 0..<40, completeLength: 100))
        #expect(part.fields[values: .contentLength] == ["40"])
        #expect(part.status == .partialContent)
        let chunked = try #require(CachePolicy.private.incomplete(storedWhole(), receivedLength: 40))
        #expect(chunked.partialRange == ContentRange(range: 0..<40, completeLength: nil))
    }

    @Test func uncompletableResponseBecomesNoPart() {
        let policy = CachePolicy.private
        let whole = storedWhole([("Content-Length", "100")])
        for length in [Int64.min, 0, 100, 101, .max] {
            #expect(policy.incomplete(whole, receivedLength: length) == nil, "\(length)")
        }
        #expect(policy.incomplete(stored([("Content-Length", "100")]), receivedLength: 40) == nil)
        #expect(policy.incomplete(stored([("ETag", "W/\"v1\"")]), receivedLength: 40) == nil)
        #expect(policy.incomplete(storedWhole([("Content-Length", "x")]), receivedLength: 40) == nil)
        #expect(policy.incomplete(storedPart("bytes 0-9/100"), receivedLength: 5) == nil)
    }
}

/// Requesting the rest of a part, RFC 9110 §13.1.5, §14.2.
@Suite(.timeLimit(.minutes(20)), .tags(.rfc9111Combining))
struct CompletionTests {
    private let policy = CachePolicy.private

    private func completion(
        _ part: StoredResponseHead,
        _ bodyLength: Int64 = 10,
        _ request: HTTPRequest = request()
    ) -> HTTPFields? {
        policy.completionRequest(for: part, bodyLength: bodyLength, request: request)?.headerFields
    }

    @Test func requestsTheRestOfAPrefix() throws {
        let own = request([
            ("Accept", "*/*"), ("If-None-Match", "\"mine\""), ("If-Modified-Since", noonDate), ("If-Match", "\"x\""),
        ])
        let fields = try #require(completion(storedPart("bytes 0-9/100"), 10, own))
        #expect(fields[values: .range] == ["bytes=10-"])
        #expect(fields[values: .ifRange] == ["\"v1\""])
        #expect(fields[.ifNoneMatch] == nil)
        #expect(fields[.ifModifiedSince] == nil)
        #expect(fields[.accept] == "*/*")
        #expect(fields[.ifMatch] == "\"x\"")
        #expect(completion(storedPart("bytes 0-9/*"))?[.range] == "bytes=10-")
    }

    @Test func acceptsAStrongDate() throws {
        let date = "Sun, 01 Mar 2026 11:00:00 GMT"
        let part = storedPart("bytes 0-9/100", [("Last-Modified", date), ("Date", noonDate)])
        #expect(completion(part)?[values: .ifRange] == [date])
        let weak = storedPart("bytes 0-9/100", [("Last-Modified", noonDate), ("Date", noonDate)])
        #expect(completion(weak) == nil)
    }

    @Test func needsAPrefixWithAStrongValidator() {
        #expect(completion(storedPart("bytes 1-10/100")) == nil)
        #expect(completion(storedPart("bytes 0-9/100", [("ETag", "W/\"v1\"")])) == nil)
        #expect(
            completion(
                storedPart(
                    "bytes 0-9/100",
                    [("ETag", "W/\"v1\""), ("Last-Modified", "Sun, 01 Mar 2026 11:00:00 GMT"), ("Date", noonDate)]
                )
            ) == nil
        )
        #expect(completion(storedPart("bytes 0-9/100", [])) == nil)
        #expect(completion(storedPart("bytes 0-9/10")) == nil)
        #expect(completion(storedWhole()) == nil)
        for length in [Int64.min, -1, 0, 9, 11, .max] {
            #expect(completion(storedPart("bytes 0-9/100"), length) == nil, "\(length)")
        }
    }

    @Test func completesOnlyRequestsForTheWhole() {
        let part = storedPart("bytes 0-9/100")
        #expect(completion(part, 10, rangeRequest("bytes=5-20")) == nil)
        #expect(completion(part, 10, rangeRequest("bytes=-5")) == nil)
        #expect(completion(part, 10, request(method: .head)) == nil)
        #expect(completion(part, 10, rangeRequest("bytes=0-"))?[values: .range] == ["bytes=10-"])
        #expect(completion(part, 10, rangeRequest("items=5-20"))?[values: .range] == ["bytes=10-"])
        let other = rangeRequest("bytes=5-20", [("If-Range", "\"v2\"")])
        #expect(completion(part, 10, other)?[values: .ifRange] == ["\"v1\""])
    }
}

extension StoredSelection {
    var missing: MissingPart? {
        if case .missing(let part) = self { part } else { nil }
    }
}
