import Foundation
import SampleOrigin
import Testing

/// The feed as GraphQL.
@Suite(.timeLimit(.minutes(20)))
struct GraphQLTests {
    private func post(
        _ query: String,
        variables: [String: String] = [:],
        operationName: String? = nil,
        to origin: RunningOrigin
    ) async throws -> ReceivedResponse {
        var request: [String: Any] = ["query": query, "variables": variables]
        if let operationName { request["operationName"] = operationName }
        let body = try JSONSerialization.data(withJSONObject: request)
        return try await RawClient.send("POST", "/graphql", body: String(decoding: body, as: UTF8.self), to: origin)
    }

    private func object(_ response: ReceivedResponse) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(response.body)) as? [String: Any])
    }

    @Test func restAndGraphQLReturnSameFeed() async throws {
        try await SampleOrigin.withOrigin { origin in
            let rest = try await RawClient.get("/moments?userID=tides&page=2", to: origin)
            let query = """
                # A comment, with a brace: {
                query Feed($id: ID!, $unused: Int = 3) @cached(for: "{") {
                  feed: getMomentsDetailsByUserID(userID: $id, page: 2) { moments { id, title } ...Rest }
                }
                fragment Rest on MomentsDetails { page }
                """
            let graphQL = try await post(query, variables: ["id": "tides"], to: origin)
            #expect(graphQL.status == 200)
            #expect(graphQL["Cache-Control"] == "max-age=60")
            #expect(graphQL.text == #"{"data":{"feed":\#(rest.text)}}"#)
        }
    }

    @Test func mutationLikesAndIsNotStored() async throws {
        try await SampleOrigin.withOrigin { origin in
            let before = try await RawClient.get("/moments/tides-2", to: origin)
            let response = try await post(
                "mutation Like($id: ID!) { likeMoment(momentID: $id) { likes } }",
                variables: ["id": "tides-2"],
                to: origin
            )
            let after = try await RawClient.get("/moments/tides-2", to: origin)
            #expect(response["Cache-Control"] == "no-store")
            #expect(before["ETag"] != after["ETag"])
            #expect(response.text == #"{"data":{"likeMoment":\#(after.text)}}"#)
        }
    }

    @Test func unlikeRemovesLike() async throws {
        try await SampleOrigin.withOrigin { origin in
            let before = try await RawClient.get("/moments/tides-2", to: origin)
            _ = try await post(#"mutation { likeMoment(momentID: "tides-2") { likes } }"#, to: origin)
            let response = try await post(#"mutation { unlikeMoment(momentID: "tides-2") { likes } }"#, to: origin)
            #expect(response.text == #"{"data":{"unlikeMoment":\#(before.text)}}"#)
        }
    }

    @Test func repeatedUpdateMomentLikeSetsState() async throws {
        try await SampleOrigin.withOrigin { origin in
            let like = """
                {"query": "mutation Like($id: ID!, $isLiked: Boolean!) \
                { updateMomentLike(momentID: $id, isLiked: $isLiked) { isLiked } }", \
                "variables": {"id": "tides-2", "isLiked": true}}
                """
            let first = try await RawClient.send("POST", "/graphql", body: like, to: origin)
            let again = try await RawClient.send("POST", "/graphql", body: like, to: origin)
            let liked = try await RawClient.get("/moments/tides-2", to: origin)
            #expect(first.text == #"{"data":{"updateMomentLike":\#(liked.text)}}"#)
            #expect(again.text == first.text && liked.text.contains(#""isLiked":true"#))
            let response = try await post(
                #"mutation { updateMomentLike(momentID: "tides-2", isLiked: false) { isLiked } }"#,
                to: origin
            )
            #expect(response.text.contains(#""isLiked":false"#))
        }
    }

    @Test func updateMomentLikeRequiresBoolean() async throws {
        try await SampleOrigin.withOrigin { origin in
            let response = try await post(
                #"mutation { updateMomentLike(momentID: "tides-2", isLiked: "yes") { isLiked } }"#,
                to: origin
            )
            #expect(response.text.contains("BAD_INPUT") && response.text.contains("'isLiked'"))
        }
    }

    @Test func operationNameChoosesAmongSeveral() async throws {
        let document = """
            query A { getMomentsDetailsByUserID(userID: "tides") { page } }
            query B { getMomentsDetailsByUserID(userID: "harbour") { page } }
            """
        try await SampleOrigin.withOrigin { origin in
            let chosen = try await post(document, operationName: "B", to: origin)
            #expect(chosen.text.contains(#""id":"harbour","name":"Harbour""#))
            #expect(try await post(document, to: origin).status == 400)
            #expect(try await post(document, operationName: "C", to: origin).status == 400)
        }
    }

    @Test func unknownOperationIsAnErrorInA200() async throws {
        try await SampleOrigin.withOrigin { origin in
            let response = try await post("{ weather { today } }", to: origin)
            let errors = try #require(try object(response)["errors"] as? [[String: Any]])
            #expect(response.status == 200)
            #expect(response["Cache-Control"] == "no-store")
            #expect(errors.count == 1)
            #expect(errors[0]["path"] as? [String] == ["weather"])
            #expect((errors[0]["message"] as? String)?.contains("'weather'") == true)
        }
    }

    @Test func failedFieldLeavesOtherFields() async throws {
        try await SampleOrigin.withOrigin { origin in
            let response = try await post(
                #"{ a: getMomentsDetailsByUserID(userID: "tides") { page } b: getMomentsDetailsByUserID(userID: "x") { page } }"#,
                to: origin
            )
            let data = try #require(try object(response)["data"] as? [String: Any])
            #expect(data["a"] is [String: Any])
            #expect(data["b"] is NSNull)
        }
    }

    @Test(arguments: [
        "", "{", "{}", "query", "{ a(", "{ a(b: ) }", "\"", "{ ...F }", "{ a } }", "?", "{ a(b: \"\\q\") }",
    ])
    func unreadableQueryGets400WithReason(query: String) async throws {
        try await SampleOrigin.withOrigin { origin in
            let response = try await post(query, to: origin)
            #expect(response.status == 400)
            #expect(response.text.contains("The query cannot be read: "))
        }
    }

    @Test func stringAcrossLinesGets400() async throws {
        let response = try await SampleOrigin.withOrigin { try await post("{ a(b: \"\n\") }", to: $0) }
        #expect(response.status == 400)
    }

    @Test func bodyThatIsNotJSONGets400() async throws {
        let response = try await SampleOrigin.withOrigin {
            try await RawClient.send("POST", "/graphql", body: "query=x", to: $0)
        }
        #expect(response.status == 400)
    }
}
