import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Logging
import NIOCore
import Synchronization
import TestSupport
import Testing

@testable import HTTPCache

/// A response with extra bytes after it does not stay stored: docs/attacks.md, 63, without a
/// socket.
@Suite(.timeLimit(.minutes(20))) struct MessageBoundaryTests {
    private static let url = "https://a.example/feed"

    /// Returns the given responses in turn, each with its own boundary.
    private final class BoundedTransport: Transport {
        typealias Reply = @Sendable (MessageBoundary) -> TransportResponse

        private let replies: Mutex<[Reply]>
        let boundaries = Mutex<[MessageBoundary]>([])

        init(_ replies: [Reply]) { self.replies = Mutex(replies) }

        func send(_ request: TransportRequest) async throws -> TransportResponse {
            let boundary = MessageBoundary()
            boundaries.withLock { $0.append(boundary) }
            var response = replies.withLock { $0.removeFirst() }(boundary)
            response.boundary = boundary
            return response
        }

        func boundary(_ number: Int) -> MessageBoundary { boundaries.withLock { $0[number] } }
    }

    private struct Cache {
        let store = InMemoryResponseStore()
        let clock = ManualClock()
        let transport: BoundedTransport
        let engine: CacheEngine

        init(_ replies: BoundedTransport.Reply...) {
            transport = BoundedTransport(replies)
            var options = EngineOptions()
            options.hardTimeout = nil
            engine = CacheEngine(
                store: store,
                transport: transport,
                policy: CachePolicy(kind: .shared),
                credentialSecret: [UInt8](repeating: 7, count: 32),
                options: options,
                parts: .init(clock: clock, sleeper: ManualDurationClock()),
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
        }

        func get(_ method: HTTPRequest.Method = .get) async throws -> String {
            let head = try HTTPRequest(method, url: MessageBoundaryTests.url)
            let response = try await engine.respond(to: CacheRequest(head: head))
            return String(buffer: try await response.body.collect(upTo: 1 << 20))
        }

        /// Waits for the work of an engine's own task.
        func until(_ condition: ([StoredResponse]) -> Bool) async {
            while !condition(store.all), !Task.isCancelled { await Task.yield() }
        }
    }

    private static func fresh(_ text: String, turn: Int = 1) -> BoundedTransport.Reply {
        { _ in
            TransportResponse(
                head: HTTPResponse(status: .ok, headerFields: fields(turn)),
                body: BodyStream(ByteBuffer(string: text))
            )
        }
    }

    private static func fields(_ turn: Int) -> HTTPFields {
        [.cacheControl: "max-age=60", .eTag: "\"1\"", .age: "0", .server: "turn \(turn)"]
    }

    @Test func responseWithExtraBytesIsNotStored() async throws {
        let cache = Cache(
            { boundary in
                boundary.cross()
                return Self.fresh("first")(boundary)
            },
            Self.fresh("second")
        )
        #expect(try await cache.get() == "first")
        #expect(cache.store.all.isEmpty)
        #expect(try await cache.get() == "second")
        #expect(cache.store.all.count == 1)
    }

    /// The extra bytes show with the last piece: the response stored before stays.
    @Test func extraBytesAfterUpdateKeepGoodData() async throws {
        let cache = Cache(
            Self.fresh("good"),
            { boundary in
                let body = BodyStream(length: 3) {
                    var pieces = ["ba", "d"]
                    return {
                        guard !pieces.isEmpty else { return nil }
                        if pieces.count == 1 { boundary.cross() }
                        return ByteBuffer(string: pieces.removeFirst())
                    }
                }
                return TransportResponse(head: HTTPResponse(status: .ok, headerFields: Self.fields(2)), body: body)
            }
        )
        #expect(try await cache.get() == "good")
        cache.clock.advance(by: .seconds(61))
        #expect(try await cache.get() == "bad")
        #expect(cache.store.all.map(\.bodyLength) == [4])
    }

    @Test func lateExtraBytesRemoveStoredResponse() async throws {
        let cache = Cache(Self.fresh("first"), Self.fresh("second"))
        #expect(try await cache.get() == "first")
        #expect(cache.store.all.count == 1)
        cache.transport.boundary(0).cross()
        await cache.until(\.isEmpty)
        #expect(try await cache.get() == "second")
    }

    /// Mutant: the currently stored response is removed, whichever it is.
    @Test func lateExtraBytesKeepReplacement() async throws {
        let cache = Cache(Self.fresh("first"), Self.fresh("another"), Self.fresh("third"))
        #expect(try await cache.get() == "first")
        cache.clock.advance(by: .seconds(61))
        #expect(try await cache.get() == "another")
        cache.transport.boundary(0).cross()
        for _ in 0..<1000 { await Task.yield() }
        #expect(cache.store.all.map(\.bodyLength) == [7])
    }

    @Test func lateExtraBytesRestoreFormerHead() async throws {
        let cache = Cache(
            Self.fresh("first"),
            { _ in
                TransportResponse(head: HTTPResponse(status: .notModified, headerFields: Self.fields(2)), body: .empty)
            }
        )
        #expect(try await cache.get() == "first")
        cache.clock.advance(by: .seconds(61))
        #expect(try await cache.get() == "first")
        #expect(cache.store.all.first?.head.fields[.server] == "turn 2")
        cache.transport.boundary(1).cross()
        await cache.until { $0.first?.head.fields[.server] == "turn 1" && $0.first?.head.isInvalidated == true }
    }

    @Test func sealedResponseIsKept() async throws {
        let cache = Cache(Self.fresh("first"))
        #expect(try await cache.get() == "first")
        let boundary = cache.transport.boundary(0)
        boundary.seal()
        boundary.cross()
        #expect(!boundary.isCrossed)
        for _ in 0..<1000 { await Task.yield() }
        #expect(cache.store.all.count == 1)
    }
}
