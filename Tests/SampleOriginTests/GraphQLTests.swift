import Foundation
import SampleOrigin
import Testing

@Suite("The feed as GraphQL")
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

    private func object(_ answer: ReceivedResponse) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any])
    }

    @Test func restAndGraphQLAnswerWithTheSameFeed() async throws {
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
            let answer = try await post(
                "mutation Like($id: ID!) { likeMoment(momentID: $id) { likes } }",
                variables: ["id": "tides-2"],
                to: origin
            )
            let after = try await RawClient.get("/moments/tides-2", to: origin)
            #expect(answer["Cache-Control"] == "no-store")
            #expect(before["ETag"] != after["ETag"])
            #expect(answer.text == #"{"data":{"likeMoment":\#(after.text)}}"#)
        }
    }

    @Test func unlikeTakesTheLikeBack() async throws {
        try await SampleOrigin.withOrigin { origin in
            let before = try await RawClient.get("/moments/tides-2", to: origin)
            _ = try await post(#"mutation { likeMoment(momentID: "tides-2") { likes } }"#, to: origin)
            let answer = try await post(#"mutation { unlikeMoment(momentID: "tides-2") { likes } }"#, to: origin)
            #expect(answer.text == #"{"data":{"unlikeMoment":\#(before.text)}}"#)
        }
    }

    @Test func updateMomentLikeSetsAStateHoweverOftenItIsSent() async throws {
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
            let answer = try await post(
                #"mutation { updateMomentLike(momentID: "tides-2", isLiked: false) { isLiked } }"#,
                to: origin
            )
            #expect(answer.text.contains(#""isLiked":false"#))
        }
    }

    @Test func updateMomentLikeWithoutATruthValueIsAnError() async throws {
        try await SampleOrigin.withOrigin { origin in
            let answer = try await post(
                #"mutation { updateMomentLike(momentID: "tides-2", isLiked: "yes") { isLiked } }"#,
                to: origin
            )
            #expect(answer.text.contains("BAD_INPUT") && answer.text.contains("'isLiked'"))
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
            let answer = try await post("{ weather { today } }", to: origin)
            let errors = try #require(try object(answer)["errors"] as? [[String: Any]])
            #expect(answer.status == 200)
            #expect(answer["Cache-Control"] == "no-store")
            #expect(errors.count == 1)
            #expect(errors[0]["path"] as? [String] == ["weather"])
            #expect((errors[0]["message"] as? String)?.contains("'weather'") == true)
        }
    }

    @Test func failedFieldDoesNotTakeTheOthersWithIt() async throws {
        try await SampleOrigin.withOrigin { origin in
            let answer = try await post(
                #"{ a: getMomentsDetailsByUserID(userID: "tides") { page } b: getMomentsDetailsByUserID(userID: "x") { page } }"#,
                to: origin
            )
            let data = try #require(try object(answer)["data"] as? [String: Any])
            #expect(data["a"] is [String: Any])
            #expect(data["b"] is NSNull)
        }
    }

    @Test(arguments: [
        "", "{", "{}", "query", "{ a(", "{ a(b: ) }", "\"", "{ ...F }", "{ a } }", "?", "{ a(b: \"\\q\") }",
    ])
    func unreadableQueryIsA400ThatSaysWhy(query: String) async throws {
        try await SampleOrigin.withOrigin { origin in
            let answer = try await post(query, to: origin)
            #expect(answer.status == 400)
            #expect(answer.text.contains("The query cannot be read: "))
        }
    }

    @Test func stringThatSpansLinesIsA400() async throws {
        let answer = try await SampleOrigin.withOrigin { try await post("{ a(b: \"\n\") }", to: $0) }
        #expect(answer.status == 400)
    }

    @Test func bodyThatIsNoJSONIsA400() async throws {
        let answer = try await SampleOrigin.withOrigin {
            try await RawClient.send("POST", "/graphql", body: "query=x", to: $0)
        }
        #expect(answer.status == 400)
    }
}
