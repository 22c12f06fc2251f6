import NIOCore
import NIOPosix
import Synchronization

/// A server on a loopback socket that answers one request after another with scripted bytes, and
/// records the bytes that it receives.
final class ScriptedOrigin: Sendable {
    /// The reaction to one request.
    struct Response: Sendable {
        var bytes: String
        /// Bytes that are sent when the check calls ``ScriptedOrigin/sendRest()``.
        var later: String?
        var closes = false
        /// The number of additional bytes to send as fast as the peer reads them.
        var flood = 0

        init(_ bytes: String, then later: String? = nil, closes: Bool = false, flooding flood: Int = 0) {
            self.bytes = bytes
            self.later = later
            self.closes = closes
            self.flood = flood
        }

        /// Closes the connection without a response.
        static let hangUp = Response("", closes: true)
        /// Sends no response.
        static let silence = Response("")
    }

    private struct State {
        var responses: [Response]
        var requests: [String] = []
        var channels: [any Channel] = []
        var closed = 0
        var waiting: [(condition: @Sendable (Int, Int) -> Bool, continuation: CheckedContinuation<Void, Never>)] = []
        var later: (channel: any Channel, bytes: String)?
        var floodedBytes = 0
        var isStalled = false
        var stallWaiter: CheckedContinuation<Void, Never>?
        var isAborted = false
    }

    private let state: Mutex<State>
    private let server: Mutex<(any Channel)?> = Mutex(nil)
    /// Reserves the port after the server has stopped.
    private let held: HeldPort
    /// The authority, which is `127.0.0.1` with the port.
    var authority: String { "127.0.0.1:\(held.port)" }

    private init(_ responses: [Response]) throws {
        held = try HeldPort()
        state = Mutex(State(responses: responses))
    }

    /// Starts listening on a free port.
    static func start(_ responses: [Response]) async throws -> ScriptedOrigin {
        let origin = try ScriptedOrigin(responses)
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(RequestHandler(origin))
                }
            }
            .bind(host: "127.0.0.1", port: origin.held.port).get()
        origin.server.withLock { $0 = channel }
        return origin
    }

    /// Stops listening and closes every connection. The port then refuses connections, and no other
    /// process can get it.
    func stop() async {
        let listener = server.withLock { server in
            defer { server = nil }
            return server
        }
        try? await listener?.close()
        for channel in state.withLock({ $0.channels }) { try? await channel.close() }
    }

    /// Resumes all waiting checks and closes every connection. Call this if a check took too long.
    func abort() {
        change { $0.isAborted = true }
        markStalled()
        for channel in state.withLock({ $0.channels }) { channel.close(promise: nil) }
    }

    /// The requests exactly as received: head, empty line, content.
    var requests: [String] { state.withLock { $0.requests } }

    /// The number of flood bytes that have left the process.
    var floodedBytes: Int { state.withLock { $0.floodedBytes } }

    /// Sends the remaining bytes of each response that has some.
    func sendRest() {
        let later = state.withLock { state in
            defer { state.later = nil }
            return state.later
        }
        if let later { later.channel.writeAndFlush(ByteBuffer(string: later.bytes), promise: nil) }
    }

    /// Waits until at least this many requests have arrived.
    func waitForRequests(_ count: Int) async { await waitUntil { requests, _ in requests >= count } }

    /// Waits until at least this many connections have been closed.
    func waitForClosed(_ count: Int) async { await waitUntil { _, closed in closed >= count } }

    /// Waits until a flood stops: either all of it was sent, or no byte was sent for five seconds.
    /// Even a busy machine delays a reader for less time than that.
    func waitForStall() async {
        await withCheckedContinuation { continuation in
            let isStalled = state.withLock { state in
                if state.isStalled { return true }
                state.stallWaiter = continuation
                return false
            }
            if isStalled { continuation.resume() }
        }
    }

    private func waitUntil(_ condition: @escaping @Sendable (Int, Int) -> Bool) async {
        await withCheckedContinuation { continuation in
            let isMet = state.withLock { state in
                if state.isAborted || condition(state.requests.count, state.closed) { return true }
                state.waiting.append((condition, continuation))
                return false
            }
            if isMet { continuation.resume() }
        }
    }

    private func change(_ body: (inout State) -> Void) {
        let due = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            body(&state)
            let (requests, closed) = (state.requests.count, state.closed)
            let isAborted = state.isAborted
            let due = state.waiting.filter { isAborted || $0.condition(requests, closed) }.map(\.continuation)
            state.waiting.removeAll { isAborted || $0.condition(requests, closed) }
            return due
        }
        for continuation in due { continuation.resume() }
    }

    fileprivate func addConnection(_ channel: any Channel) { change { $0.channels.append(channel) } }

    fileprivate func countClosed() { change { $0.closed += 1 } }

    /// Records a complete request and responds to it.
    fileprivate func receive(_ request: String, on channel: any Channel) {
        var response: Response?
        change { state in
            state.requests.append(request)
            response = state.responses.isEmpty ? nil : state.responses.removeFirst()
            if let later = response?.later { state.later = (channel, later) }
        }
        // No response is scripted for this request. The check finds the request among the recorded
        // requests.
        guard let response else { return channel.close(promise: nil) }
        if !response.bytes.isEmpty { channel.writeAndFlush(ByteBuffer(string: response.bytes), promise: nil) }
        if response.closes { channel.close(promise: nil) }
        if response.flood > 0 { pour(response.flood, into: channel) }
    }

    /// Writes a part once the previous part has left the process.
    private func pour(_ left: Int, into channel: any Channel) {
        guard left > 0 else { return markStalled() }
        let piece = ByteBuffer(repeating: 7, count: min(left, 1 << 18))
        let guardian = channel.eventLoop.scheduleTask(in: .seconds(5)) { self.markStalled() }
        channel.writeAndFlush(piece).whenComplete { result in
            guardian.cancel()
            guard case .success = result else { return self.markStalled() }
            self.state.withLock { $0.floodedBytes += piece.readableBytes }
            self.pour(left - piece.readableBytes, into: channel)
        }
    }

    private func markStalled() {
        let waiter = state.withLock { state in
            state.isStalled = true
            defer { state.stallWaiter = nil }
            return state.stallWaiter
        }
        waiter?.resume()
    }

    /// Splits the received bytes into requests by `Content-Length`.
    private final class RequestHandler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let origin: ScriptedOrigin
        private var gathered: [UInt8] = []

        init(_ origin: ScriptedOrigin) { self.origin = origin }

        func channelActive(context: ChannelHandlerContext) { origin.addConnection(context.channel) }

        func channelInactive(context: ChannelHandlerContext) { origin.countClosed() }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            gathered += Array(unwrapInboundIn(data).readableBytesView)
            while let end = endOfRequest {
                let request = String(decoding: gathered[..<end], as: UTF8.self)
                gathered.removeFirst(end)
                origin.receive(request, on: context.channel)
            }
        }

        private var endOfRequest: Int? {
            let blank = Array("\r\n\r\n".utf8)
            guard gathered.count >= 4,
                let head = (0...gathered.count - 4).first(where: { gathered[$0..<$0 + 4].elementsEqual(blank) })
            else { return nil }
            let lines = String(decoding: gathered[..<head], as: UTF8.self).lowercased().split(separator: "\r\n")
            let field = "content-length:"
            let length = lines.first { $0.hasPrefix(field) }.flatMap { line in
                Int(line.dropFirst(field.count).drop { $0 == " " })
            }
            let end = head + 4 + (length ?? 0)
            return end <= gathered.count ? end : nil
        }
    }
}
