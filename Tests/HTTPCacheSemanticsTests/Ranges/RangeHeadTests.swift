import HTTPCacheSemantics
import HTTPTypes
import Testing

/// Response heads for ranges, RFC 9110 §15.3.7, §15.5.17.
@Suite(.timeLimit(.minutes(20)), .tags(.rfc9110Ranges))
struct RangeHeadTests {
    private let policy = CachePolicy.private

    private func head(_ selection: StoredSelection, of stored: StoredResponseHead, bodyLength: Int64) -> HTTPResponse {
        policy.head(
            for: selection,
            of: stored,
            servedFields: stored.fields,
            bodyLength: bodyLength,
            boundary: "b1"
        )
    }

    @Test func onePartHasItsOwnLengthAndRange() {
        let whole = storedWhole([("Content-Length", "100"), ("Content-Digest", "sha-256=:AAAA:"), ("X-A", "1")])
        let head = head(.range(10..<20, completeLength: 100), of: whole, bodyLength: 100)
        #expect(head.status == .partialContent)
        #expect(head.headerFields[values: .contentRange] == ["bytes 10-19/100"])
        #expect(head.headerFields[values: .contentLength] == ["10"])
        #expect(head.headerFields[.contentType] == "text/plain")
        #expect(head.headerFields[.eTag] == "\"v1\"")
        #expect(!head.headerFields.contains { $0.name.canonicalName == "content-digest" })
    }

    @Test func partOfAStoredPartKeepsUnknownLength() {
        let part = storedPart("bytes 10-49/*")
        let head = head(.range(10..<20, completeLength: nil), of: part, bodyLength: 40)
        #expect(head.headerFields[values: .contentRange] == ["bytes 10-19/*"])
        #expect(head.headerFields[values: .contentLength] == ["10"])
    }

    @Test func severalPartsAreMultipart() throws {
        let selection = StoredSelection.ranges([0..<2, 5..<7], completeLength: 10)
        let whole = storedWhole([("Content-Length", "10")])
        let head = head(selection, of: whole, bodyLength: 10)
        let plan = try #require(policy.multipartPlan(for: selection, of: whole, boundary: "b1"))
        #expect(head.status == .partialContent)
        #expect(head.headerFields[.contentRange] == nil)
        #expect(head.headerFields[values: .contentType] == ["multipart/byteranges; boundary=b1"])
        #expect(head.headerFields[values: .contentLength] == ["\(plan.length)"])
        let bytes = plan.assembled(from: Array("0123456789".utf8))
        let expected = """
            --b1\r
            Content-Type: text/plain\r
            Content-Range: bytes 0-1/10\r
            \r
            01\r
            --b1\r
            Content-Type: text/plain\r
            Content-Range: bytes 5-6/10\r
            \r
            56\r
            --b1--\r

            """
        #expect(String(decoding: bytes, as: UTF8.self) == expected)
        #expect(StatedLength(clamping: bytes.count) == plan.length)
    }

    @Test func bodyOffsetsStartAtTheStoredPart() throws {
        let part = storedPart("bytes 100-109/200")
        let selection = policy.selection(of: part, bodyLength: 10, for: rangeRequest("bytes=108-109,100-101"))
        let plan = try #require(policy.multipartPlan(for: selection, of: part, boundary: "b"))
        let slices = plan.pieces.compactMap { piece -> Range<StatedLength>? in
            if case .body(let range) = piece { range } else { nil }
        }
        #expect(slices == [8..<10, 0..<2])
    }

    @Test func unsatisfiableIsA416WithoutContentFields() {
        let whole = storedWhole([
            ("Content-Length", "10"), ("Vary", "Accept"), ("Server", "s"), ("Expires", "0"), ("Age", "3"),
        ])
        let head = head(.unsatisfiable(completeLength: 10), of: whole, bodyLength: 10)
        #expect(head.status == .rangeNotSatisfiable)
        #expect(head.headerFields[values: .contentRange] == ["bytes */10"])
        #expect(head.headerFields[values: .contentLength] == ["0"])
        #expect(head.headerFields[.vary] == "Accept")
        for name in [HTTPField.Name.contentType, .eTag, .lastModified, .cacheControl, .expires] {
            #expect(head.headerFields[name] == nil, "\(name)")
        }
    }

    /// RFC 9111 §5.1: every response from a store has an age, whatever part of it is served.
    @Test func everySelectionHasItsAge() {
        let later = noon.adding(milliseconds: 7_000)
        let selections: [StoredSelection] = [
            .complete, .range(0..<2, completeLength: 10), .ranges([0..<2, 5..<7], completeLength: 10),
            .unsatisfiable(completeLength: 10), .missing(MissingPart(range: nil, completeLength: nil)),
        ]
        for stored in [storedWhole(), storedPart("bytes 0-9/10"), stored([("Age", "100")], status: 404)] {
            let age = policy.currentAge(of: stored, at: later)
            for selection in selections {
                let head = policy.head(
                    for: selection,
                    of: stored,
                    servedFields: policy.servedFields(of: stored, age: age),
                    bodyLength: 10,
                    boundary: "b"
                )
                #expect(head.headerFields[values: .age] == ["\(age.milliseconds / 1000)"], "\(selection)")
            }
        }
    }

    @Test func wholeResponseIsUnchanged() {
        let teapot = stored([("X-A", "1"), ("Transfer-Size", "3")], status: 404)
        let head = head(.complete, of: teapot, bodyLength: 3)
        #expect(head.status == .notFound)
        #expect(head.headerFields == teapot.fields)
    }

    @Test func partThatIsTheWholeIsA200() {
        let part = storedPart("bytes 0-9/10")
        let head = head(.complete, of: part, bodyLength: 10)
        #expect(head.status == .ok)
        #expect(head.headerFields[.contentRange] == nil)
        #expect(head.headerFields[values: .contentLength] == ["10"])
    }

    @Test(arguments: [("a\r\nX: y", "aXy"), ("", "holdfast"), ("\"; x", "x"), ("é", "holdfast"), ("a-_9", "a-_9")])
    func boundaryCannotBreakTheFraming(text: String, sent: String) {
        #expect(MultipartPlan.boundary(text) == sent)
        let plan = MultipartPlan(ranges: [0..<1], completeLength: 1, contentType: nil, boundary: text)
        #expect(plan.pieces.first == .literal(Array("--\(sent)\r\nContent-Range: bytes 0-0/1\r\n\r\n".utf8)))
    }

    @Test func cutsALongBoundary() {
        #expect(MultipartPlan.boundary(String(repeating: "a", count: 200)).utf8.count == 70)
    }

    @Test func extremesDoNotTrap() {
        let extremes: [Range<StatedLength>] = [0 ..< .maximum, .maximum ..< .maximum, 0..<0, 5..<7]
        let plan = MultipartPlan(
            ranges: extremes,
            completeLength: .maximum,
            contentType: nil,
            boundary: "b",
            bodyOffset: .maximum
        )
        _ = MultipartPlan(ranges: extremes, completeLength: 0, contentType: nil, boundary: "b", bodyOffset: 0)
        #expect(plan.length > 0)
        for range in extremes {
            _ = head(.range(range, completeLength: 0), of: storedPart("bytes 0-9/10"), bodyLength: .min)
            _ = head(.ranges([range, range], completeLength: .maximum), of: storedWhole(), bodyLength: .max)
        }
    }
}

extension MultipartPlan {
    /// The body as a server would send it.
    func assembled(from body: [UInt8]) -> [UInt8] {
        pieces.flatMap { piece -> [UInt8] in
            switch piece {
            case .literal(let bytes): bytes
            case .body(let range): Array(body[range.numbers])
            }
        }
    }
}
