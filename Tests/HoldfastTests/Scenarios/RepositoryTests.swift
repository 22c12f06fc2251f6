import Foundation
import Holdfast
import HoldfastTesting
import SampleOrigin
import Testing

/// A screen depends on this protocol; it knows neither REST nor GraphQL.
private protocol MomentsRepository: Sendable {
    func details(of userID: String) async throws -> MomentsDetails
    func like(_ momentID: String, of userID: String) async throws -> Bool
}

private struct RESTMoments: MomentsRepository {
    let client: CachingClient
    let url: String

    func feed(_ userID: String) -> AnyRequest<MomentsDetails> {
        AnyRequest(baseURL: url, path: "/moments", task: .query(["userID": .init(userID)]))
    }
    func details(of userID: String) async throws -> MomentsDetails { try await client.fetch(feed(userID)).value }
    func like(_ momentID: String, of userID: String) async throws -> Bool {
        let like = AnyRequest<MomentsDetails.Moment>(
            baseURL: url,
            path: "/moments/\(momentID)/likes",
            method: .post,
            invalidates: [.endpoint(feed(userID))]
        )
        return try await client.fetch(like).value.isLiked ?? false
    }
}

private struct GraphQLMoments: MomentsRepository {
    let client: CachingClient
    let url: String

    func feed(_ userID: String) -> AnyRequest<MomentsDetails> {
        let operation = GraphQLOperation(
            """
            query Feed($userID: ID!) { getMomentsDetailsByUserID(userID: $userID) {
              userDetails { id name avatar backgroundImage }
              moments { id userDetails { name avatar } type title url photos createdDate isLiked } } }
            """,
            variables: ["userID": .init(userID)]
        )
        return AnyRequest(
            baseURL: url,
            path: "/graphql",
            method: .post,
            task: .graphQL(operation),
            storage: .expiring(.after(.seconds(600))),
            valuePath: "data.getMomentsDetailsByUserID"
        )
    }
    func details(of userID: String) async throws -> MomentsDetails { try await client.fetch(feed(userID)).value }
    func like(_ momentID: String, of userID: String) async throws -> Bool {
        let operation = GraphQLOperation(
            "mutation Like($id: ID!) { likeMoment(momentID: $id) { id isLiked } }",
            variables: ["id": .init(momentID)]
        )
        let like = AnyRequest<Bool>(
            baseURL: url,
            path: "/graphql",
            method: .post,
            task: .graphQL(operation),
            valuePath: "data.likeMoment.isLiked",
            invalidates: [.endpoint(feed(userID))]
        )
        return try await client.fetch(like).value
    }
}

/// Repositories are written on protocols and stay the same when REST becomes GraphQL.
@Suite(.timeLimit(.minutes(20))) struct RepositoryTests {
    // A feature toggle chooses the implementation; the code that depends on the protocol stays the
    // same.
    private func repository(_ client: CachingClient, _ url: String, usesGraphQL: Bool) -> any MomentsRepository {
        usesGraphQL ? GraphQLMoments(client: client, url: url) : RESTMoments(client: client, url: url)
    }

    // The repository stays the same when REST becomes GraphQL.
    @Test func repositoryIsTheSameOverRESTAndGraphQL() async throws {
        try await ClientFixture.run { fixture in
            let url = fixture.origin.baseURL
            let rest = try await repository(fixture.client, url, usesGraphQL: false).details(of: "harbour")
            let graphQL = try await repository(fixture.client, url, usesGraphQL: true).details(of: "harbour")
            #expect(rest == graphQL)
            #expect(rest.userDetails.id == "harbour" && rest.moments.count == 10)
            #expect(Set(rest.moments.map(\.type)) == [.url, .photos] && rest.moments.contains { $0.title == nil })
            #expect(Set(fixture.origin.requestCountsByRoute.keys) == ["GET /moments", "POST /graphql"])
        }
    }

    // A test can inject what executes the requests.
    @Test(arguments: [false, true]) func requestExecutorIsInjected(usesGraphQL: Bool) async throws {
        try await ScriptedClient.run { fixture in
            let feed = #"{"userDetails":{"id":"1","name":"A","avatar":"a","backgroundImage":"b"},"moments":[]}"#
            fixture.script("/moments?userID=1", .fresh(feed))
            fixture.script("/graphql", .fresh(#"{"data":{"getMomentsDetailsByUserID":\#(feed)}}"#))
            let moments = repository(fixture.client, ScriptedClient.url, usesGraphQL: usesGraphQL)
            let details = try await moments.details(of: "1")
            #expect(details.userDetails.name == "A" && fixture.transport.requests.count == 1)
        }
    }

    // A mutation updates the likes of a moment and invalidates the stored feed.
    @Test(arguments: [false, true]) func mutationUpdatesTheLikesOfAMoment(usesGraphQL: Bool) async throws {
        try await ClientFixture.run { fixture in
            let moments = repository(fixture.client, fixture.origin.baseURL, usesGraphQL: usesGraphQL)
            for _ in 0..<2 { _ = try await moments.details(of: "harbour") }
            #expect(fixture.origin.requestCount == 1)
            let before = try await moments.details(of: "harbour").moments[0]
            #expect(before.isLiked == false)
            let isLiked = try await moments.like(before.id, of: "harbour")
            #expect(isLiked)
            let after = try await moments.details(of: "harbour").moments[0]
            #expect(after.id == before.id && after.isLiked == true && fixture.origin.requestCount == 3)
        }
    }

    // GraphQL errors in a response with status 200 become an error that carries the partial data.
    // The stored response stays.
    @Test func partialGraphQLErrorsCarryThePartialData() async throws {
        try await ClientFixture.run { fixture in
            let moments = GraphQLMoments(client: fixture.client, url: fixture.origin.baseURL)
            let stored = try await moments.details(of: "harbour")
            fixture.origin.force(
                .respond(
                    fields: [("Content-Type", "application/json")],
                    body: #"{"data":{"other":7,"getMomentsDetailsByUserID":null},"#
                        + #""errors":[{"message":"no","path":["getMomentsDetailsByUserID"],"extensions":{"code":"GONE"}}]}"#
                )
            )
            let error = await failure { _ = try await fixture.client.fetch(moments.feed("harbour"), .networkOnly) }
            #expect(error?.code == .graphQL && error?.graphQLErrors?.errors.first?.code == "GONE")
            #expect(error?.graphQLErrors?.hasData == true && error?.status == .ok)
            #expect(error?.outcome == .failed)
            let kept = try await fixture.client.stored(moments.feed("harbour"))
            #expect(kept?.value == stored)
            let unknown = await failure { _ = try await moments.details(of: "nobody") }
            #expect(unknown?.code == .graphQL)
        }
    }
}
