import Crypto
import Foundation
import SampleOrigin
import Testing

/// GraphQL over GET, and persisted queries.
@Suite(.timeLimit(.minutes(20)))
struct PersistedQueryTests {
    private static let query = "query Feed($id: ID!) { getMomentsDetailsByUserID(userID: $id) { page } }"

    private func target(_ parameters: [(String, String)]) -> String {
        let allowed = CharacterSet.alphanumerics
        return "/graphql?"
            + parameters.map { "\($0)=\($1.addingPercentEncoding(withAllowedCharacters: allowed) ?? "")" }
            .joined(separator: "&")
    }

    private func extensions(_ query: String, version: Int = 1) -> (String, String) {
        let hash = SHA256.hash(data: Data(query.utf8)).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        return ("extensions", #"{"persistedQuery":{"version":\#(version),"sha256Hash":"\#(hash)"}}"#)
    }

    @Test func queryOverGetEqualsQueryOverPost() async throws {
        try await SampleOrigin.withOrigin { origin in
            let variables = ("variables", #"{"id":"tides"}"#)
            let got = try await RawClient.get(target([("query", Self.query), variables]), to: origin)
            let rest = try await RawClient.get("/moments?userID=tides", to: origin)
            #expect(got.status == 200)
            #expect(got["Cache-Control"] == "max-age=60")
            #expect(got.text == #"{"data":{"getMomentsDetailsByUserID":\#(rest.text)}}"#)
        }
    }

    @Test func hashIsFoundAfterItsTextWasSent() async throws {
        try await SampleOrigin.withOrigin { origin in
            let variables = ("variables", #"{"id":"tides"}"#)
            let short = target([variables, extensions(Self.query)])
            let unknown = try await RawClient.get(short, to: origin)
            #expect(unknown.status == 200)
            #expect(unknown["Cache-Control"] == "no-store")
            #expect(
                unknown.text
                    == #"{"errors":[{"extensions":{"code":"PERSISTED_QUERY_NOT_FOUND"},"message":"PersistedQueryNotFound"}]}"#
            )
            let registered = try await RawClient.get(
                target([("query", Self.query), variables, extensions(Self.query)]),
                to: origin
            )
            #expect(registered.text.hasPrefix(#"{"data":"#))
            let found = try await RawClient.get(short, to: origin)
            #expect(found.body == registered.body)
            #expect(found["Cache-Control"] == "max-age=60")
            origin.reset()
            #expect(try await RawClient.get(short, to: origin).text == unknown.text)
        }
    }

    @Test func postRegistersTextToo() async throws {
        try await SampleOrigin.withOrigin { origin in
            let text = #"{ getMomentsDetailsByUserID(userID: \"tides\") { page } }"#
            let plain = text.replacing("\\", with: "")
            let posted = try await RawClient.send(
                "POST",
                "/graphql",
                body: #"{"query":"\#(text)","extensions":\#(extensions(plain).1)}"#,
                to: origin
            )
            #expect(posted.text.hasPrefix(#"{"data":"#))
            #expect(try await RawClient.get(target([extensions(plain)]), to: origin).body == posted.body)
        }
    }

    @Test func rejectsHashOfAnotherText() async throws {
        try await SampleOrigin.withOrigin { origin in
            let other = extensions("{ other }")
            let wrong = try await RawClient.get(target([("query", Self.query), other]), to: origin)
            #expect(wrong.status == 400)
            #expect(try await RawClient.get(target([other]), to: origin).text.contains("PersistedQueryNotFound"))
        }
    }

    @Test func mutationOverGetIs405AndChangesNothing() async throws {
        try await SampleOrigin.withOrigin { origin in
            let before = try await RawClient.get("/moments/tides-2", to: origin)
            let mutation = #"mutation { likeMoment(momentID: "tides-2") { likes } }"#
            let response = try await RawClient.get(target([("query", mutation)]), to: origin)
            #expect(response.status == 405)
            #expect(response["Allow"] == "POST")
            #expect(try await RawClient.get("/moments/tides-2", to: origin).body == before.body)
        }
    }

    @Test func unreadableRequestGets400() async throws {
        try await SampleOrigin.withOrigin { origin in
            let targets = [
                "/graphql", target([("query", Self.query), ("variables", "x")]),
                target([extensions(Self.query, version: 2)]), target([("query", "{")]),
            ]
            for target in targets {
                let response = try await RawClient.get(target, to: origin)
                #expect(response.status == 400, "\(target)")
            }
        }
    }
}
