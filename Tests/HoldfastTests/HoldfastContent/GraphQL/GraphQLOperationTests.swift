import Foundation
import HTTPCache
import Holdfast
import HoldfastTesting
import Logging
import NIOCore
import SampleOrigin
import Testing

@testable import Holdfast

/// How GraphQL operations are sent, and which of them the store keeps.
@Suite(.timeLimit(.minutes(20))) struct GraphQLOperationTests {
    private struct Operation: Endpoint {
        var baseURL = "https://a.example"
        let path = "/graphql"
        var operation: GraphQLOperation
        var storage: CacheRequest.Storage = .expiring(.never)
        var task: HTTPTask { .graphQL(operation) }
    }

    private struct ByGET: Endpoint {
        let baseURL = "https://a.example"
        let path = "/graphql"
        let method = HTTPRequest.Method.get
        var operation: GraphQLOperation
        var task: HTTPTask { .graphQL(operation) }
    }

    private static let query = "query Feed($user: ID!, $page: Int) { moments(userID: $user, page: $page) { id } }"
    private static let mutation = "mutation Like($id: ID!) { like(id: $id) { likes } }"

    private static func content(_ request: CacheRequest) -> String? {
        guard case .buffer(let buffer)? = request.body else { return nil }
        return String(buffer: buffer)
    }

    private static func key(_ request: CacheRequest) -> StoreKey? {
        CacheEngine(
            store: InMemoryResponseStore(),
            transport: ScriptedTransport(),
            credentialSecret: [UInt8](repeating: 1, count: 32),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        ).key(for: request)
    }

    @Test func operationIsSentByPostAsJSONWithSortedKeys() throws {
        let operation = GraphQLOperation(Self.query, variables: ["user": "harbour", "page": 1], operationName: "Feed")
        let request = try Operation(operation: operation).request(defaults: RequestDefaults(parameters: ["key": "k"]))
        #expect(request.head.method == .post && request.head.path == "/graphql?key=k")
        #expect(
            Self.content(request)
                == #"{"operationName":"Feed","query":"\#(Self.query)","variables":{"page":1,"user":"harbour"}}"#
        )
        #expect(request.head.headerFields[.contentType] == "application/json")
        #expect(request.head.headerFields[.accept] == "application/graphql-response+json, application/json;q=0.9")
    }

    @Test func absentVariablesAndNamesAreNotSent() throws {
        let request = try Operation(operation: GraphQLOperation("{ a }")).request(defaults: .init())
        #expect(Self.content(request) == #"{"query":"{ a }"}"#)
    }

    @Test(arguments: [
        ("{ a }", GraphQLOperation.Kind?.some(.query)), (query, .query), (mutation, .mutation),
        ("subscription { a }", .subscription), ("query A { a } query B { b }", nil), ("nonsense", nil),
    ])
    func onlyAQueryIsNoMutation(document: String, kind: GraphQLOperation.Kind?) throws {
        for form in [GraphQLOperation.Form.document, .persisted, .registering] {
            for storage in [CacheRequest.Storage.expiring(.never), .byResponse, .never] {
                let endpoint = Operation(operation: GraphQLOperation(document, form: form), storage: storage)
                #expect(endpoint.operation.kind == kind)
                #expect(endpoint.isMutation == (kind != .query) && endpoint.isIdempotent == (kind == .query))
                let request = try endpoint.request(defaults: .init())
                let isKeyed =
                    switch form {
                    case .document: storage == .expiring(.never)
                    case .persisted: storage != .never
                    case .registering: false
                    }
                #expect((Self.key(request) != nil) == (kind == .query && isKeyed), "\(form), \(storage)")
                if kind != .query { #expect(request.storage == .never && !request.keysContent) }
            }
        }
    }

    @Test func storedQueryIsKeyedByItsContent() throws {
        func key(_ variables: RequestParameters, _ storage: CacheRequest.Storage = .expiring(.never)) throws
            -> StoreKey?
        {
            let operation = GraphQLOperation(Self.query, variables: variables)
            return Self.key(try Operation(operation: operation, storage: storage).request(defaults: .init()))
        }
        let one = try #require(try key(["user": "a", "page": 1]))
        #expect(try key(["page": 1, "user": "a"]) == one)
        #expect(try key(["user": "a", "page": 2]) != one)
        #expect(try key(["user": "a"], .byResponse) == nil)
    }

    /// Apollo's example: the hash of `{__typename}`.
    @Test func persistedQueryIsAGetWithTheHash() throws {
        let operation = GraphQLOperation("{__typename}", form: .persisted)
        #expect(operation.documentHash == "ecf4edb46db40b5132295c0291d62fb65d6759a9eedfa4d5d612dd5ec54a6b38")
        let request = try Operation(operation: operation).request(defaults: .init())
        #expect(request.head.method == .get && request.body == nil)
        let extensions =
            "%7B%22persistedQuery%22%3A%7B%22sha256Hash%22%3A%22\(operation.documentHash)%22%2C%22version%22%3A1%7D%7D"
        #expect(request.head.path == "/graphql?extensions=\(extensions)")

        let feed = GraphQLOperation(
            Self.query,
            variables: ["user": "a&b", "page": 1],
            operationName: "Feed",
            form: .persisted
        )
        let path = try #require(try Operation(operation: feed).request(defaults: .init()).head.path)
        #expect(
            path.hasSuffix(
                "&operationName=Feed&variables=%7B%22page%22%3A1%2C%22user%22%3A%22a%26b%22%7D"
            )
        )
        #expect(!path.contains("moments"))
    }

    @Test func unknownHashIsSentWithTheQuery() throws {
        let endpoint = Operation(operation: GraphQLOperation("{__typename}", form: .persisted))
        let request = try #require(try endpoint.registeringRequest(defaults: .init()))
        #expect(request.head.method == .post && request.head.path == "/graphql")
        #expect(
            Self.content(request)
                == #"{"extensions":{"persistedQuery":{"sha256Hash":"\#(endpoint.operation.documentHash)","version":1}},"query":"{__typename}"}"#
        )
        #expect(request.storage == .never)
        #expect(try Operation(operation: GraphQLOperation("{ a }")).registeringRequest(defaults: .init()) == nil)
        #expect(endpoint.operation.registering.registering == endpoint.operation.registering)
    }

    @Test func getRunsQueriesOnly() async throws {
        let request = try ByGET(operation: GraphQLOperation("{ a }")).request(defaults: .init())
        #expect(request.head.path == "/graphql?query=%7B%20a%20%7D")
        for document in [Self.mutation, "subscription { a }", "nonsense"] {
            await expect(.encodingFailed) {
                _ = try ByGET(operation: GraphQLOperation(document)).request(defaults: .init())
            }
        }
    }

    private struct Liked: Decodable, Sendable { var likes: Int }

    @Test(.timeLimit(.minutes(20))) func storedQueryIsServedOfflineAndAMutationIsNot() async throws {
        try await ClientFixture.run { fixture in
            var feed = Operation(
                baseURL: fixture.origin.baseURL,
                operation: GraphQLOperation(
                    "query ($user: ID!) { getMomentsDetailsByUserID(userID: $user) { userDetails { id name } } }",
                    variables: ["user": "harbour"]
                )
            )
            let first = try await fixture.client.fetch(feed)
            #expect(first.source == .network)
            let second = try await fixture.client.fetch(feed, .storedFirst)
            #expect(second.source == .store && second.value == first.value)
            feed.operation = GraphQLOperation("mutation { like }")
            let count = fixture.origin.requestCount
            for _ in 0..<2 { _ = try? await fixture.client.fetch(feed, .storedFirst) }
            #expect(fixture.origin.requestCount == count + 2)
        }
    }
}
