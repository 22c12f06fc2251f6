import NIOCore
import Synchronization

/// Enforces the time limits of one exchange for a transport that does not enforce them itself: see
/// ``OriginWait``.
///
/// It observes the request's content: when the transport requests the next piece, it has sent the
/// previous piece. It cannot see that a response has begun before its head has arrived.
final class ExchangeWatch: Sendable {
    private struct State {
        var wait: OriginWait
        /// `nil` before the exchange begins and after it ends.
        var expire: (@Sendable () -> Void)?
        /// The ID of the running limit in ``Deadlines``.
        var deadline: UInt64?
        var isExpired = false
    }

    private let state: Mutex<State>
    private let deadlines: Deadlines
    private let limit: Duration

    /// Content in memory up to this size in bytes is sent in one piece, within the time for the
    /// head.
    private static let shortContent = 1 << 20

    /// - Parameter limit: the time that the origin has for each step (``OriginWait/Running``).
    init(_ request: TransportRequest, _ limit: Duration, _ deadlines: Deadlines) {
        state = Mutex(State(wait: OriginWait(hasContent: request.body.map(Self.isSentInPieces) ?? false)))
        self.deadlines = deadlines
        self.limit = limit
    }

    /// Returns the request to pass to the transport, with its content observed.
    func watched(_ request: TransportRequest) -> TransportRequest {
        guard let content = request.body, Self.isSentInPieces(content) else { return request }
        var request = request
        request.body = BodyStream(length: content.length) {
            let next = Self.pieces(of: content)
            return {
                self.note { $0.take() }
                guard let piece = try await next() else {
                    self.note { $0.endContent() }
                    return nil
                }
                self.note { $0.handOver() }
                return piece
            }
        }
        return request
    }

    private static func isSentInPieces(_ content: BodyStream) -> Bool {
        content.whole.map { $0.readableBytes > shortContent } ?? true
    }

    private static func pieces(of content: BodyStream) -> () async throws -> ByteBuffer? {
        guard var rest = content.whole else {
            var chunks = content.makeAsyncIterator()
            return { try await chunks.next() }
        }
        return { rest.readableBytes == 0 ? nil : rest.readSlice(length: min(rest.readableBytes, 128 << 10)) }
    }

    /// Starts to watch, because the request is being sent.
    ///
    /// - Parameter expire: called outside this object's lock if the origin takes too long.
    func begin(_ expire: @escaping @Sendable () -> Void) {
        state.withLock { state in
            state.expire = expire
            if let running = state.wait.running { apply(.begin(running), &state) }
        }
    }

    /// Ends the watch, because the response's head has arrived or can no longer arrive.
    ///
    /// - Returns: whether the exchange stayed within its limits.
    func end() -> Bool {
        state.withLock { state in
            apply(.stop, &state)
            state.expire = nil
            return !state.isExpired
        }
    }

    private func note(_ event: (inout OriginWait) -> OriginWait.Change) {
        state.withLock { state in
            let change = event(&state.wait)
            apply(change, &state)
        }
    }

    private func apply(_ change: OriginWait.Change, _ state: inout State) {
        if change == .none { return }
        if let deadline = state.deadline.take(), !deadlines.end(deadline) { state.isExpired = true }
        guard case .begin = change, !state.isExpired, let expire = state.expire else { return }
        state.deadline = deadlines.begin(limit, expire)
    }
}
