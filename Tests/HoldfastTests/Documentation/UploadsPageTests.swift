import Foundation
import Holdfast
import HoldfastTesting
import TestSupport
import Testing

/// The page "Uploads, downloads and GraphQL".
@Suite(.timeLimit(.minutes(20))) struct UploadsPageTests {
    struct Comment: Encodable, Sendable { var text: String }

    struct AddComment: Endpoint {
        let comment: Comment
        var path: String { "/comments" }
        var task: HTTPTask { .encodable(comment) }
    }

    struct Filter: Encodable, Sendable { var author: String }

    struct FindMoments: Endpoint {
        let filter: Filter
        let page: Int
        let cursor: String?
        var path: String { "/moments" }
        var task: HTTPTask { .json(["filter": filter, "page": page, "cursor": cursor]) }
    }

    struct GetToggles: Endpoint {
        var path: String { "/toggles" }
        var headers: [String: String] { ["x-app-platform": "iOS"] }
    }

    struct Like: Endpoint {
        let id: String
        var path: URLPath { "/moments/\(id)/like" }
        var method: HTTPRequest.Method { .put }
        var isIdempotent: Bool { true }
    }

    struct AddMoment: Endpoint {
        let title: String
        let photo: String
        var path: String { "/moments" }
        var task: HTTPTask { .multipart([.text(title, name: "title"), .file(photo, name: "photo")]) }
    }

    struct GetMap: Endpoint {
        var path: String { "/maps/harbour" }
    }

    struct MomentsOf: Endpoint {
        let userID: String
        var path: String { "/graphql" }
        var task: HTTPTask {
            let query = "query Moments($user: ID!) { moments(userID: $user) { id title } }"
            return .graphQL(GraphQLOperation(query, variables: ["user": userID]))
        }
        var storage: CacheRequest.Storage { .expiring(.after(.minutes(10))) }
        var tags: [String] { ["moments"] }
    }

    struct LikeMoment: Endpoint {
        let id: String
        var path: String { "/graphql" }
        var task: HTTPTask {
            let document = "mutation Like($id: ID!) { like(id: $id) { likes } }"
            return .graphQL(GraphQLOperation(document, variables: ["id": id]))
        }
        var invalidates: [StoreInvalidation] { [.tag("moments")] }
        var invalidatesTarget: Bool { false }
    }

    @Test func sentContentMatchesThePage() async throws {
        let folder = try TemporaryFolder()
        let photo = folder.path + "/boat.jpg"
        try Data("bytes of a boat".utf8).write(to: URL(filePath: photo))
        try await withTestClient(.init(environment: .production)) { test in
            for path in ["comments", "moments", "moments/1/like"] {
                test.transport.script("https://api.example.com/\(path)", .status(.created))
            }
            _ = try await test.client.fetch(AddComment(comment: Comment(text: "fine")), as: NoContent.self)
            _ = try await test.client.fetch(AddMoment(title: "At the pier", photo: photo), as: NoContent.self)
            _ = try await test.client.fetch(Like(id: "1"), as: NoContent.self)
            let sent = test.transport.received
            #expect(sent.map(\.head.method) == [.post, .post, .put])
            #expect(sent[0].text == #"{"text":"fine"}"#)
            #expect(sent[1].text?.contains("At the pier") == true && sent[1].text?.contains("bytes of a boat") == true)
        }
    }

    @Test func progressAndDownloadMatchThePage() async throws {
        let folder = try TemporaryFolder()
        let (photo, file) = (folder.path + "/boat.jpg", folder.path + "/map.bin")
        try Data("bytes of a boat".utf8).write(to: URL(filePath: photo))
        let shown = Events()
        @Sendable func show(_ bytes: Int64) { shown.append("\(bytes)") }
        try await withTestClient(.init(environment: .production)) { test in
            let client = test.client
            test.transport.script("https://api.example.com/moments", .status(.created))
            let upload = client.call(AddMoment(title: "At the pier", photo: photo), as: NoContent.self)
            _ = try await upload.with { $0.onProgress = { show($0.completed) } }.fetch()
            #expect(!shown.all.isEmpty)

            test.transport.script("https://api.example.com/maps/harbour", .ok("piers"))
            let map = try await client.download(GetMap(), to: DownloadDestination(file)) { show($0.completed) }
            #expect(map.path == file && map.length == 5 && map.resumedFrom == 0)
            #expect(shown.all.last == "5")
            #expect(try Data(contentsOf: URL(filePath: file)) == Data("piers".utf8))
            let error = await #expect(throws: HoldfastError.self) { _ = try await client.download(GetMap()) }
            #expect(error?.code == .parametersMissing)
        }
    }

    @Test func sentValuesAndFieldsMatchThePage() async throws {
        try await withTestClient(.init(environment: .production)) { test in
            test.transport.script("https://api.example.com/moments", .status(.created))
            test.transport.script("https://api.example.com/toggles", .ok("{}"))
            let find = FindMoments(filter: Filter(author: "harbour"), page: 2, cursor: nil)
            _ = try await test.client.fetch(find, as: NoContent.self)
            _ = try await test.client.fetch(GetToggles())
            let sent = test.transport.received
            #expect(sent[0].text == #"{"filter":{"author":"harbour"},"page":2}"#)
            #expect(sent[1].head.headerFields.contains { $0.name.canonicalName == "x-app-platform" })
        }
    }

    @Test func mutationInvalidatesItsTargets() async throws {
        struct Other: Endpoint {
            let path = "/graphql"
            let task = HTTPTask.graphQL(GraphQLOperation("query { version }"))
            let storage = CacheRequest.Storage.expiring(.after(.seconds(600)))
        }
        try await withTestClient(.init(environment: .production)) { test in
            test.transport.script("https://api.example.com/graphql", repeating: .ok(#"{"data": {}}"#))
            for _ in 0..<2 {
                _ = try await test.client.fetch(MomentsOf(userID: "harbour"))
                _ = try await test.client.fetch(Other())
            }
            #expect(test.transport.requests.count == 2)
            _ = try await test.client.fetch(LikeMoment(id: "1"))
            #expect(try await test.client.stored(MomentsOf(userID: "harbour"))?.isStale == true)
            #expect(try await test.client.stored(Other())?.isStale == false)
        }
    }

    @Test func graphQLErrorsAreReported() async throws {
        let reported = Events()
        func report(_ messages: [String]) { messages.forEach(reported.append) }
        try await withTestClient(.init(environment: .production)) { test in
            let client = test.client
            test.transport.script("https://api.example.com/graphql", .ok(#"{"errors": [{"message": "no"}]}"#))
            do throws(HoldfastError) {
                _ = try await client.fetch(MomentsOf(userID: "harbour"))
            } catch {
                report(error.graphQLErrors?.errors.map(\.message) ?? ["\(error)"])
            }
        }
        #expect(reported.all == ["no"])
    }
}
