import Foundation
import Holdfast
import HoldfastTesting
import NIOCore
import Testing

/// A mutation is sent once, and its targets are out of date afterwards, even if its caller has
/// gone.
@Suite(.timeLimit(.minutes(20))) struct MutationTests {
    private struct Write: Endpoint {
        typealias Response = String
        var baseURL: String { ScriptedClient.url }
        var path = "/thing"
        var method: HTTPRequest.Method = .post
        var task: HTTPTask = .data(Data("x".utf8), contentType: "text/plain")
        var storage: CacheRequest.Storage { .expiring(.after(.seconds(60))) }
    }

    /// An enum may declare all its cases as stored. Mutant: the method is ignored.
    @Test(arguments: [HTTPRequest.Method.put, .patch, .delete]) func onlyPostCanBeARead(method: HTTPRequest.Method)
        async throws
    {
        let write = Write(method: method)
        #expect(write.isMutation && !write.isIdempotent && write.invalidatesTarget)
        try await ScriptedClient.run(.init(retry: RetryPlan())) { fixture in
            fixture.script("/thing", .fresh("old"))
            _ = try await fixture.client.fetch(fixture.get("/thing"))
            fixture.transport.script(ScriptedClient.url + "/thing", method: method, .status(.serviceUnavailable))
            let error = await failure { _ = try await fixture.client.fetch(write) }
            #expect(error?.code == .status && fixture.transport.requests.count == 2)
            fixture.transport.script(ScriptedClient.url + "/thing", method: method, .ok("done"))
            _ = try await fixture.client.fetch(write)
            fixture.script("/thing", .fresh("new"))
            let after = try await fixture.client.fetch(fixture.get("/thing")).value
            #expect(after == "new")
        }
    }

    /// Mutant: the task is ignored.
    @Test func postWithUnkeyedContentIsNoRead() {
        let file = Multipart.Part(name: "f", content: .file("/etc/hostname"))
        #expect(Write(task: .file("/etc/hostname")).isMutation)
        #expect(Write(task: .multipart(Multipart([file]))).isMutation)
        #expect(!Write(task: .multipart(Multipart([.text("x", name: "f")]))).isMutation)
        #expect(!Write().isMutation)
    }

    /// Mutant: the caller's cancellation is checked first.
    @Test func mutationInvalidatesAfterItsCallerHasGone() async throws {
        try await ScriptedClient.run { fixture in
            let gate = Gate()
            fixture.script("/feed", .fresh("old"), .fresh("new"))
            _ = try await fixture.client.fetch(fixture.get("/feed"))
            var reply = ScriptedTransport.Reply.ok("liked", beforeEnd: gate)
            reply.head.headerFields[.contentLength] = "1000"
            fixture.transport.script(ScriptedClient.url + "/like", method: .post, reply)
            let like = AnyRequest<String>(
                baseURL: ScriptedClient.url,
                path: "/like",
                method: .post,
                invalidates: [.endpoint(fixture.get("/feed"))]
            )
            let client = fixture.client
            let received = Kept<Bool>()
            let liking = Task {
                try await client.call(like).with { $0.onProgress = { _ in received.value = true } }.fetch()
            }
            // The head has come, and a part of the content.
            while received.value != true, !Task.isCancelled { await Task.yield() }
            liking.cancel()
            let ending = await liking.result
            #expect(throws: (any Error).self) { try ending.get() }
            let after = try await client.fetch(fixture.get("/feed")).value
            #expect(after == "new")
            gate.open()
        }
    }

    /// Mutant: GraphQL errors mean that nothing was done, even beside data.
    @Test(arguments: [
        (#"{"data":{"like":true},"errors":[{"message":"no avatar"}]}"#, "new"),
        (#"{"data":null,"errors":[{"message":"no"}]}"#, "old"),
    ]) func mutationWithErrorsAndDataInvalidates(content: String, expected: String) async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/feed", .fresh("old"))
            _ = try await fixture.client.fetch(fixture.get("/feed"))
            fixture.transport.script(ScriptedClient.url + "/graphql", method: .post, .ok(content))
            let like = AnyRequest<String>(
                baseURL: ScriptedClient.url,
                path: "/graphql",
                method: .post,
                task: .graphQL(GraphQLOperation("mutation { like }")),
                invalidates: [.endpoint(fixture.get("/feed"))]
            )
            let error = await failure { _ = try await fixture.client.fetch(like) }
            #expect(error?.code == .graphQL)
            if expected == "new" { fixture.script("/feed", .fresh("new")) }
            let after = try await fixture.client.fetch(fixture.get("/feed")).value
            #expect(after == expected)
        }
    }
}
