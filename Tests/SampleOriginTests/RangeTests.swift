import Testing

@testable import SampleOrigin

/// Ranges (RFC 9110 §14).
@Suite(.timeLimit(.minutes(20)))
struct RangeTests {
    @Test(
        arguments: [
            (nil, .whole), ("bytes=0-0", .part(0..<1)), ("bytes=2-4", .part(2..<5)), ("BYTES=7-", .part(7..<10)),
            ("bytes=-3", .part(7..<10)), ("bytes=-30", .part(0..<10)), ("bytes=9-99999999999999999999", .part(9..<10)),
            ("bytes=10-", .unsatisfiable), ("bytes=-0", .unsatisfiable), ("bytes=5-4", .whole),
            ("bytes=0-1,3-4", .whole),
            ("bytes=", .whole), ("bytes=-", .whole), ("bytes=a-b", .whole), ("bytes=+1-2", .whole),
            ("lines=1-2", .whole),
            ("bytes=1-2-3", .whole),
        ] as [(String?, ByteRange)]
    )
    func fieldSelects(field: String?, range: ByteRange) {
        #expect(ByteRange.selected(by: field, of: 10) == range)
    }

    @Test(arguments: ["/bytes/100000?seed=3", "/bytes/100000?seed=3&chunked=true"])
    func partHasItsBytesRangeAndWholeTag(target: String) async throws {
        try await SampleOrigin.withOrigin { origin in
            let whole = try await RawClient.get(target, to: origin)
            let part = try await RawClient.get(target, fields: [("Range", "bytes=70000-79999")], to: origin)
            #expect(whole.status == 200)
            #expect(whole["Accept-Ranges"] == "bytes")
            #expect(part.status == 206)
            #expect(part["Content-Range"] == "bytes 70000-79999/100000")
            #expect(part["Content-Length"] == (target.contains("chunked") ? nil : "10000"))
            #expect(part["ETag"] == whole["ETag"])
            #expect(part.content == DeterministicBytes(seed: 3).bytes(70_000..<80_000))
        }
    }

    @Test func rangeBeyondEndGets416WithLength() async throws {
        let response = try await SampleOrigin.withOrigin {
            try await RawClient.get("/bytes/10", fields: [("Range", "bytes=10-")], to: $0)
        }
        #expect(response.status == 416)
        #expect(response["Content-Range"] == "bytes */10")
    }

    @Test func ifRangeServesPartOnlyOfSameContent() async throws {
        try await SampleOrigin.withOrigin { origin in
            let tag = try #require(try await RawClient.get("/bytes/10", to: origin)["ETag"])
            let conditions = [
                (tag, 206), ("W/\(tag)", 200), ("\"other\"", 200), ("Thu, 01 Jan 2026 00:00:00 GMT", 200),
            ]
            for (condition, status) in conditions {
                let fields = [("Range", "bytes=5-"), ("If-Range", condition)]
                let response = try await RawClient.get("/bytes/10", fields: fields, to: origin)
                #expect(response.status == status, "\(condition)")
                #expect(response.body == DeterministicBytes().bytes(status == 206 ? 5..<10 : 0..<10))
            }
        }
    }

    @Test func headAndCurrentCopiesHaveNoRanges() async throws {
        try await SampleOrigin.withOrigin { origin in
            let head = try await RawClient.send("HEAD", "/bytes/10", fields: [("Range", "bytes=5-")], to: origin)
            #expect(head.status == 200)
            #expect(head["Content-Length"] == "10")
            let tag = try #require(head["ETag"])
            for range in ["bytes=5-", "bytes=10-"] {
                let fields = [("Range", range), ("If-None-Match", tag)]
                #expect(try await RawClient.get("/bytes/10", fields: fields, to: origin).status == 304)
            }
        }
    }

    @Test func cutDownloadIsResumedByRanges() async throws {
        try await SampleOrigin.withOrigin { origin in
            let target = "/bytes/1000?key=a&cut=300&times=2"
            var received: [UInt8] = []
            var tag: String?
            for attempt in 1...3 {
                let fields = [("Range", "bytes=\(received.count)-")] + (tag.map { [("If-Range", $0)] } ?? [])
                let response = try await RawClient.get(target, fields: fields, to: origin)
                #expect(response.status == 206)
                #expect(response["Content-Length"] == "\(1000 - received.count)")
                tag = response["ETag"]
                received += response.body
                #expect(received.count == [300, 600, 1000][attempt - 1])
            }
            #expect(received == DeterministicBytes().bytes(0..<1000))
            // Each key has its own attempts.
            let other = try await RawClient.get("/bytes/1000?key=b&cut=300", to: origin)
            #expect(other.body.count == 300)
        }
    }

    @Test func changedContentIsNotResumed() async throws {
        try await SampleOrigin.withOrigin { origin in
            let target = "/bytes/1000?key=a&cut=300&changes=1"
            let announced = try await RawClient.send("HEAD", target, to: origin)
            let first = try await RawClient.get(target, to: origin)
            let tag = try #require(first["ETag"])
            // HEAD describes the same content and does not count as an attempt.
            #expect(announced["ETag"] == tag)
            #expect(first.body == DeterministicBytes().bytes(0..<300))
            let fields = [("Range", "bytes=300-"), ("If-Range", tag)]
            let second = try await RawClient.get(target, fields: fields, to: origin)
            #expect(second.status == 200)
            #expect(second["ETag"] != tag)
            #expect(second.body == DeterministicBytes(seed: 1).bytes(0..<1000))
            let third = try await RawClient.get(target, to: origin)
            #expect(third["ETag"] == second["ETag"])
            origin.reset()
            #expect(try await RawClient.get(target, to: origin).body.count == 300)
        }
    }
}
