import HTTPCacheSemantics
import HTTPTypes
import Testing

/// Combining parts, RFC 9111 §3.4.
@Suite(.timeLimit(.minutes(20)), .tags(.rfc9111Combining))
struct CombiningTests {
    private let policy = CachePolicy.private
    private let later = noon.adding(milliseconds: 5000)

    private func combined(
        _ stored: StoredResponseHead,
        _ bodyLength: Int64,
        _ contentRange: String,
        _ pairs: [(String, String)] = [("ETag", "\"v1\""), ("Date", noonDate)],
        status: Int = 206
    ) -> CombinedResponse? {
        policy.combined(
            stored,
            bodyLength: bodyLength,
            with: response(pairs + [("Content-Range", contentRange)], status: status),
            requestTime: later,
            responseTime: later,
            request: request()
        )
    }

    @Test(
        arguments: [
            ("bytes 10-19/100", [.stored(0..<10), .received(0..<10)], "bytes 0-19/100"),
            ("bytes 5-19/100", [.stored(0..<10), .received(5..<15)], "bytes 0-19/100"),
            ("bytes 0-19/100", [.stored(0..<10), .received(10..<20)], "bytes 0-19/100"),
            ("bytes 3-6/100", [.stored(0..<10)], "bytes 0-9/100"),
            ("bytes 0-9/100", [.stored(0..<10)], "bytes 0-9/100"),
            ("bytes 10-19/*", [.stored(0..<10), .received(0..<10)], "bytes 0-19/100"),
        ] as [(String, [CombinedResponse.Piece], String)]
    )
    func extendsAPrefix(new: String, pieces: [CombinedResponse.Piece], contentRange: String) throws {
        let result = try #require(combined(storedPart("bytes 0-9/100"), 10, new))
        #expect(result.pieces == pieces)
        #expect(result.head.fields[values: .contentRange] == [contentRange])
        #expect(result.head.fields[values: .contentLength] == ["\(result.length)"])
        #expect(result.head.status == .partialContent)
        #expect(result.head.partialRange.map { $0.range.length } == result.length)
    }

    @Test(
        arguments: [
            ("bytes 40-49/*", [.received(0..<10), .stored(0..<10)]),
            ("bytes 45-54/*", [.received(0..<5), .stored(0..<10)]),
            ("bytes 40-69/*", [.received(0..<30)]),
            ("bytes 40-59/*", [.received(0..<10), .stored(0..<10)]),
        ] as [(String, [CombinedResponse.Piece])]
    )
    func extendsAMiddlePartToTheFront(new: String, pieces: [CombinedResponse.Piece]) {
        #expect(combined(storedPart("bytes 50-59/*"), 10, new)?.pieces == pieces)
    }

    @Test func completedPartBecomesA200() throws {
        let result = try #require(combined(storedPart("bytes 0-9/20"), 10, "bytes 10-19/20"))
        #expect(result.head.status == .ok)
        #expect(result.head.fields[.contentRange] == nil)
        #expect(result.head.fields[values: .contentLength] == ["20"])
        #expect(!result.isStoredAlone)
        // Either response may state the length.
        #expect(combined(storedPart("bytes 0-9/*"), 10, "bytes 10-19/20")?.head.status == .ok)
        #expect(combined(storedPart("bytes 0-9/20"), 10, "bytes 10-19/*")?.head.status == .ok)
        #expect(combined(storedPart("bytes 0-9/*"), 10, "bytes 10-19/*")?.head.status == .partialContent)
    }

    @Test func partOfACompleteResponseOnlyFreshensIt() throws {
        var whole = storedWhole([("Content-Length", "100"), ("Content-Digest", "sha-256=:AAAA:")])
        whole.isInvalidated = true
        let result = try #require(
            combined(
                whole,
                100,
                "bytes 5-9/100",
                [("ETag", "\"v1\""), ("Content-Length", "5"), ("X-New", "1"), ("Content-Digest", "sha-256=:BBBB:")]
            )
        )
        #expect(result.isStoredAlone)
        #expect(result.pieces == [.stored(0..<100)])
        #expect(result.head.status == .ok)
        #expect(result.head.fields[.contentRange] == nil)
        #expect(result.head.fields[values: .contentLength] == ["100"])
        #expect(result.head.fields.contains { $0.value == "sha-256=:AAAA:" })
        #expect(!result.head.fields.contains { $0.value == "sha-256=:BBBB:" })
        #expect(result.head.fields.contains { $0.name.canonicalName == "x-new" })
        #expect(!result.head.isInvalidated)
    }

    @Test func updatesFields() throws {
        let part = storedPart(
            "bytes 0-9/100",
            [
                ("ETag", "\"v1\""), ("Age", "50"), ("Date", noonDate), ("X-Old", "1"), ("X-Both", "1"),
                ("Content-Digest", "a=:AA==:"),
            ]
        )
        let result = try #require(
            combined(
                part,
                10,
                "bytes 10-19/100",
                [("ETag", "\"v1\""), ("X-Both", "2"), ("Cache-Control", "max-age=9")]
            )
        )
        let fields = result.head.fields
        #expect(fields.filter { $0.name.canonicalName == "x-both" }.map(\.value) == ["2"])
        #expect(fields.contains { $0.name.canonicalName == "x-old" })
        #expect(fields[.age] == nil)
        #expect(fields[.cacheControl] == "max-age=9")
        #expect(fields[.date] == "Sun, 01 Mar 2026 12:00:05 GMT")
        // It described the part.
        #expect(!fields.contains { $0.name.canonicalName == "content-digest" })
        #expect(result.head.requestTime == later)
        #expect(result.head.responseTime == later)
    }

    // Mutant: with `weaklyEquals`, or with a missing tag taken for a match, bytes of two
    // representations are mixed.
    @Test(
        arguments: [
            ([("ETag", "\"v1\"")], [("ETag", "\"v2\"")]),
            ([("ETag", "W/\"v1\"")], [("ETag", "W/\"v1\"")]),
            ([("ETag", "\"v1\"")], [("ETag", "W/\"v1\"")]),
            ([("ETag", "W/\"v1\"")], [("ETag", "\"v1\"")]),
            ([("ETag", "\"v1\"")], []), ([], [("ETag", "\"v1\"")]), ([], []),
            ([("ETag", "v1")], [("ETag", "v1")]),
        ] as [([(String, String)], [(String, String)])]
    )
    func needsTheSameStrongValidator(old: [(String, String)], new: [(String, String)]) {
        // An old date in both does not help if there is an entity tag.
        let dates = [("Date", noonDate)]
        let part = storedPart("bytes 0-9/100", old + dates)
        #expect(combined(part, 10, "bytes 10-19/100", new + dates) == nil)
    }

    @Test(
        arguments: [
            ("Sun, 01 Mar 2026 11:00:00 GMT", "Sun, 01 Mar 2026 11:00:00 GMT", true),
            ("Sun, 01 Mar 2026 11:00:00 GMT", "Sun, 01 Mar 2026 11:00:01 GMT", false),
            ("Sun, 01 Mar 2026 11:59:30 GMT", "Sun, 01 Mar 2026 11:59:30 GMT", false),
        ]
    )
    func acceptsStrongDatesWithoutTags(old: String, new: String, combines: Bool) {
        let part = storedPart("bytes 0-9/100", [("Last-Modified", old), ("Date", noonDate)])
        let result = combined(part, 10, "bytes 10-19/100", [("Last-Modified", new), ("Date", noonDate)])
        #expect((result != nil) == combines)
        let tagged = [("Last-Modified", new), ("Date", noonDate), ("ETag", "\"v1\"")]
        #expect(combined(part, 10, "bytes 10-19/100", tagged) == nil)
    }

    // docs/attacks.md, 17. Mutant: if `union` never returns nil, a gap is filled with later bytes.
    @Test(arguments: [
        "bytes 11-19/100", "bytes 10-19/101", "bytes 50-59/100", "bytes 10-19/20", "bytes 19-10/100", "bytes */100", "",
    ])
    func rejectsRangesThatDoNotFit(new: String) {
        #expect(combined(storedPart("bytes 0-9/100"), 10, new) == nil)
    }

    @Test func rejectsContradictions() {
        // Beyond the complete length that the other response states.
        #expect(combined(storedPart("bytes 0-9/10"), 10, "bytes 5-14/*") == nil)
        #expect(combined(storedPart("bytes 5-14/*"), 10, "bytes 0-9/10") == nil)
        // The body does not match the head.
        #expect(combined(storedPart("bytes 0-9/100"), 9, "bytes 10-19/100") == nil)
        #expect(combined(storedWhole(), 90, "bytes 5-9/100") == nil)
        #expect(combined(storedWhole(), .min, "bytes 5-9/100") == nil)
        // The new body cannot match its head either.
        let short = [("ETag", "\"v1\""), ("Content-Length", "9")]
        #expect(combined(storedPart("bytes 0-9/100"), 10, "bytes 10-19/100", short) == nil)
        let multipart = [("ETag", "\"v1\""), ("Content-Type", "multipart/byteranges; boundary=x")]
        #expect(combined(storedPart("bytes 0-9/100"), 10, "bytes 10-19/100", multipart) == nil)
        #expect(combined(storedPart("bytes 0-9/100"), 10, "bytes 10-19/100", status: 200) == nil)
        // Another coding has other bytes under the same tag.
        let coded = [("ETag", "\"v1\""), ("Content-Encoding", "gzip")]
        #expect(combined(storedPart("bytes 0-9/100"), 10, "bytes 10-19/100", coded) == nil)
        #expect(combined(stored([("ETag", "\"v1\"")], status: 404), 100, "bytes 5-9/100") == nil)
    }
}
