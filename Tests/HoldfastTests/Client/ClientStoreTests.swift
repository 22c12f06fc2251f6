import Foundation
import Holdfast
import HoldfastTesting
import NIOCore
import Testing

/// The store as a client uses it: objects, raw responses, keys and expiry.
@Suite(.timeLimit(.minutes(20))) struct ClientStoreTests {
    private static let key = "https://a.example/x"

    // The store has separate methods for decoded objects and raw responses, and each reads only its
    // own kind.
    @Test func objectsAndResponsesAreStoredApart() async throws {
        try await ScriptedClient.run { fixture in
            let store = fixture.client.store
            let responseKey = StoreKey(target: try TargetURI(Self.key))
            try await store.setObject(["a": 1], forKey: Self.key)
            #expect(try await store.object([String: Int].self, forKey: Self.key) == ["a": 1])
            #expect(try await store.response(for: responseKey) == nil)
            let raw = RawResponse(status: .ok, body: ByteBuffer(string: "raw"))
            try await store.setResponse(raw, for: responseKey, expiry: .never)
            #expect(try await store.response(for: responseKey) == raw)
            #expect(try await store.object([String: Int].self, forKey: Self.key) == ["a": 1])
            // The client finds a response that was stored by hand.
            let read = try await fixture.client.fetch(fixture.get("/x"))
            #expect(read.value == "raw" && read.source == .store)
        }
    }

    // The key has the URL, the parameters in any order, the method, and the content, for every kind
    // of body.
    @Test func keyHasURLParametersMethodAndContent() async throws {
        try await ScriptedClient.run { fixture in
            let url = ScriptedClient.url
            func request(_ method: HTTPRequest.Method, _ task: HTTPTask) -> AnyRequest<String> {
                AnyRequest(
                    baseURL: url,
                    path: "/x",
                    method: method,
                    task: task,
                    storage: .expiring(.after(.seconds(60)))
                )
            }
            let parameters: RequestParameters = ["a": 1, "b": .object(["x": 1, "y": [2, 3]]), "c": "d", "e": true]
            let again: RequestParameters = ["e": true, "c": "d", "b": .object(["y": [2, 3], "x": 1]), "a": 1]
            let requests = [
                request(.post, .json(parameters)), request(.post, .json(["a": 1])), request(.post, .plain),
                request(.post, .urlEncoded(["a": 1])), request(.post, .data(Data("a".utf8), contentType: "text/plain")),
                request(.post, .data(Data("a".utf8), contentType: "text/css")), request(.get, .plain),
                request(.post, .encodable(["b": 1])),
            ]
            for (number, each) in requests.enumerated() {
                fixture.script("/x", .ok("\(number)"))
                let value = try await fixture.client.fetch(each).value
                #expect(value == "\(number)")
            }
            for (number, each) in requests.enumerated() {
                #expect(try await fixture.client.fetch(each).value == "\(number)")
            }
            #expect(try await fixture.client.fetch(request(.post, .json(again))).value == "0")
            #expect(fixture.transport.requests.count == requests.count)
        }
    }

    // An expired value can be read offline, and the caller can set an expiry.
    @Test func expiredValuesStayReadableOffline() async throws {
        try await ScriptedClient.run { fixture in
            let store = fixture.client.store
            try await store.setObject(1, forKey: "a", expiry: .after(.seconds(10)))
            let request = AnyRequest<String>(
                baseURL: ScriptedClient.url,
                path: "/x",
                storage: .expiring(.after(.seconds(10)))
            )
            fixture.script("/x", .ok("1"))
            _ = try await fixture.client.fetch(request)
            fixture.clock.advance(by: .seconds(9))
            #expect(try await store.object(Int.self, forKey: "a") == 1)
            #expect(try await fixture.client.fetch(request).isStale == false)
            fixture.clock.advance(by: .seconds(1))
            for _ in 0..<2 {
                #expect(try await store.object(Int.self, forKey: "a") == nil)
                let expired = try await store.storedObject(Int.self, forKey: "a")
                #expect(expired?.value == 1 && expired?.isExpired == true)
            }
            fixture.client.mode = .offline
            for _ in 0..<2 {
                let offline = try await fixture.client.fetch(request)
                #expect(offline.value == "1" && offline.isStale && offline.age == .seconds(10))
            }
        }
    }
}
