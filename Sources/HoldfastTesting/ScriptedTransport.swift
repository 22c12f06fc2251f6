public import HTTPCache
import HTTPCacheSemantics
public import HTTPTypes
public import NIOCore
import Synchronization

/// A transport that answers as it was told, and loudly fails on a request it was told nothing about.
///
/// ```swift
/// let transport = ScriptedTransport()
/// transport.script("https://a.example/feed", .ok("[]", fields: [.cacheControl: "max-age=60"]), .failure(.connect))
/// ```
public final class ScriptedTransport: Transport {
    /// One answer.
    public struct Reply: Sendable {
        /// What the origin does.
        public enum Ending: Sendable {
            /// The body is complete.
            case complete
            /// There is no head: this is thrown instead.
            case failure(TransportError)
            /// The body breaks off after its chunks.
            case brokenOff(TransportError)
        }
        /// Status and fields.
        public var head: HTTPResponse
        /// The body's parts.
        public var chunks: [ByteBuffer]
        /// See ``Ending``.
        public var ending: Ending
        /// Waits before the head is delivered.
        public var beforeHead: Gate?
        /// Waits before the body ends.
        public var beforeEnd: Gate?

        /// An answer.
        public init(
            head: HTTPResponse,
            chunks: [ByteBuffer] = [],
            ending: Ending = .complete,
            beforeHead: Gate? = nil,
            beforeEnd: Gate? = nil
        ) {
            self.head = head
            self.chunks = chunks
            self.ending = ending
            self.beforeHead = beforeHead
            self.beforeEnd = beforeEnd
        }

        /// A 200 with this content.
        public static func ok(
            _ body: String,
            fields: HTTPFields = [:],
            beforeHead: Gate? = nil,
            beforeEnd: Gate? = nil
        ) -> Reply {
            Reply(
                head: HTTPResponse(status: .ok, headerFields: fields),
                chunks: body.isEmpty ? [] : [ByteBuffer(string: body)],
                beforeHead: beforeHead,
                beforeEnd: beforeEnd
            )
        }

        /// Another status.
        public static func status(_ status: HTTPResponse.Status, _ body: String = "", fields: HTTPFields = [:]) -> Reply
        {
            Reply(
                head: HTTPResponse(status: status, headerFields: fields),
                chunks: body.isEmpty ? [] : [ByteBuffer(string: body)]
            )
        }

        /// No answer.
        public static func failure(_ code: TransportError.Code, beforeHead: Gate? = nil) -> Reply {
            Reply(
                head: HTTPResponse(status: .ok),
                ending: .failure(TransportError(code: code, message: "Scripted failure '\(code)'.")),
                beforeHead: beforeHead
            )
        }
    }

    private struct State {
        var replies: [String: [Reply]] = [:]
        var requests: [HTTPRequest] = []
        var unscripted: [String] = []
        var waiting: [(count: Int, CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    /// A transport that was told nothing yet.
    public init() {}

    /// Tells it how to answer the next requests for a target URI, in this order. The last answer is not repeated.
    public func script(_ target: String, _ replies: Reply...) {
        state.withLock { $0.replies[target, default: []] += replies }
    }

    /// The requests that came, in order.
    public var requests: [HTTPRequest] { state.withLock { $0.requests } }

    /// The targets that were asked for without a script: a test checks that there are none.
    public var unscripted: [String] { state.withLock { $0.unscripted } }

    /// Waits until so many requests have come.
    public func waitForRequests(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.requests.count >= count { return true }
                state.waiting.append((count, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    /// See `Transport`.
    public func send(_ request: TransportRequest) async throws -> TransportResponse {
        let uri = TargetURI(request: request.head)?.uri ?? "?"
        let (reply, arrived) = state.withLock { state -> (Reply?, [CheckedContinuation<Void, Never>]) in
            state.requests.append(request.head)
            let count = state.requests.count
            let arrived = state.waiting.filter { $0.count <= count }.map(\.1)
            state.waiting.removeAll { $0.count <= count }
            guard state.replies[uri]?.isEmpty == false else {
                state.unscripted.append(uri)
                return (nil, arrived)
            }
            return (state.replies[uri]?.removeFirst(), arrived)
        }
        for waiter in arrived { waiter.resume() }
        guard let reply else {
            throw TransportError(code: .other, message: "No answer is scripted for '\(request.head.method) \(uri)'.")
        }
        if let gate = reply.beforeHead { try await gate.wait() }
        if case .failure(let error) = reply.ending { throw error }
        return TransportResponse(head: reply.head, body: reply.stream)
    }
}

extension ScriptedTransport.Reply {
    fileprivate var stream: BodyStream {
        BodyStream {
            var rest = chunks[...]
            return {
                if let chunk = rest.popFirst() { return chunk }
                if let gate = beforeEnd { try await gate.wait() }
                if case .brokenOff(let error) = ending { throw error }
                return nil
            }
        }
    }
}
