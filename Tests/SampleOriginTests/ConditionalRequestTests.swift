import SampleOrigin
import Testing

/// Conditional requests (RFC 9110 §13).
@Suite(.timeLimit(.minutes(20)))
struct ConditionalRequestTests {
    private let feed = "/moments?userID=harbour"

    @Test func currentTagGets304WithItsFields() async throws {
        try await SampleOrigin.withOrigin { origin in
            let full = try await RawClient.get(feed, to: origin)
            let tag = try #require(full["ETag"])
            for field in [tag, "W/\(tag)", "\"other\", \(tag)", "*"] {
                let response = try await RawClient.get(feed, fields: [("If-None-Match", field)], to: origin)
                #expect(response.status == 304, "\(field)")
                #expect(response.body.isEmpty)
                #expect(response["ETag"] == tag)
                #expect(response["Cache-Control"] == "max-age=60")
                #expect(response["Date"] != nil)
                #expect(response["Content-Length"] == nil)
                #expect(response["Content-Type"] == nil)
            }
        }
    }

    @Test func variantsKeepTheirVaryIn304() async throws {
        try await SampleOrigin.withOrigin { origin in
            let full = try await RawClient.get("/greeting", fields: [("Accept-Language", "de")], to: origin)
            let tag = try #require(full["ETag"])
            let response = try await RawClient.get(
                "/greeting",
                fields: [("Accept-Language", "de"), ("If-None-Match", tag)],
                to: origin
            )
            #expect(response.status == 304)
            #expect(response["Vary"] == "Accept-Language")
        }
    }

    @Test func ifNoneMatchTakesPrecedence() async throws {
        try await SampleOrigin.withOrigin { origin in
            let fields = [("If-None-Match", "\"other\""), ("If-Modified-Since", "Thu, 01 Jan 2026 00:00:00 GMT")]
            let response = try await RawClient.get(feed, fields: fields, to: origin)
            #expect(response.status == 200)
        }
    }

    @Test(arguments: [
        ("Thu, 01 Jan 2026 00:00:00 GMT", 304), ("Thu, 01 Jan 2027 00:00:00 GMT", 304),
        ("Wed, 31 Dec 2025 23:59:59 GMT", 200), ("yesterday", 200),
    ])
    func ifModifiedSince(date: String, status: Int) async throws {
        let response = try await SampleOrigin.withOrigin {
            try await RawClient.get(feed, fields: [("If-Modified-Since", date)], to: $0)
        }
        #expect(response.status == status)
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

    @Test func postNeverGets304() async throws {
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
