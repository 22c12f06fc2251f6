import SampleOrigin
import Testing

@Suite("Conditional requests (RFC 9110 §13)")
struct ConditionalRequestTests {
    private let feed = "/moments?userID=harbour"

    @Test func currentTagIsAnsweredWith304AndItsFields() async throws {
        try await SampleOrigin.withOrigin { origin in
            let full = try await RawClient.get(feed, to: origin)
            let tag = try #require(full["ETag"])
            for field in [tag, "W/\(tag)", "\"other\", \(tag)", "*"] {
                let answer = try await RawClient.get(feed, fields: [("If-None-Match", field)], to: origin)
                #expect(answer.status == 304, "\(field)")
                #expect(answer.body.isEmpty)
                #expect(answer["ETag"] == tag)
                #expect(answer["Cache-Control"] == "max-age=60")
                #expect(answer["Date"] != nil)
                #expect(answer["Content-Length"] == nil)
                #expect(answer["Content-Type"] == nil)
            }
        }
    }

    @Test func variantsKeepTheirVaryIn304() async throws {
        try await SampleOrigin.withOrigin { origin in
            let full = try await RawClient.get("/greeting", fields: [("Accept-Language", "de")], to: origin)
            let tag = try #require(full["ETag"])
            let answer = try await RawClient.get(
                "/greeting",
                fields: [("Accept-Language", "de"), ("If-None-Match", tag)],
                to: origin
            )
            #expect(answer.status == 304)
            #expect(answer["Vary"] == "Accept-Language")
        }
    }

    @Test func ifNoneMatchDecidesAloneWhenBothAreThere() async throws {
        try await SampleOrigin.withOrigin { origin in
            let fields = [("If-None-Match", "\"other\""), ("If-Modified-Since", "Thu, 01 Jan 2026 00:00:00 GMT")]
            let answer = try await RawClient.get(feed, fields: fields, to: origin)
            #expect(answer.status == 200)
        }
    }

    @Test(arguments: [
        ("Thu, 01 Jan 2026 00:00:00 GMT", 304), ("Thu, 01 Jan 2027 00:00:00 GMT", 304),
        ("Wed, 31 Dec 2025 23:59:59 GMT", 200), ("yesterday", 200),
    ])
    func ifModifiedSince(date: String, status: Int) async throws {
        let answer = try await SampleOrigin.withOrigin {
            try await RawClient.get(feed, fields: [("If-Modified-Since", date)], to: $0)
        }
        #expect(answer.status == status)
    }

    @Test func headHasTheFieldsOfGetAndNoBody() async throws {
        try await SampleOrigin.withOrigin { origin in
            let get = try await RawClient.get(feed, to: origin)
            let head = try await RawClient.send("HEAD", feed, to: origin)
            #expect(head.status == 200)
            #expect(head.body.isEmpty)
            for name in ["Content-Length", "Content-Type", "ETag", "Cache-Control", "Last-Modified"] {
                #expect(head[name] != nil)
                #expect(head[name] == get[name])
            }
        }
    }

    @Test func postIsNeverAnsweredWith304() async throws {
        try await SampleOrigin.withOrigin { origin in
            let body = #"{"query":"{ getMomentsDetailsByUserID(userID: \"tides\") { page } }"}"#
            let first = try await RawClient.send("POST", "/graphql", body: body, to: origin)
            let tag = try #require(first["ETag"])
            let second = try await RawClient.send(
                "POST",
                "/graphql",
                fields: [("If-None-Match", tag)],
                body: body,
                to: origin
            )
            #expect(second.status == 200)
            #expect(second.body == first.body)
        }
    }
}
