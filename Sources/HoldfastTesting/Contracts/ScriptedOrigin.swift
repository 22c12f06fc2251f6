import NIOCore
import NIOPosix
import Synchronization

/// A socket on loopback that responds to one request after the other with scripted bytes, and
/// records what it receives.
final class ScriptedOrigin: Sendable {
    /// The reaction to one request.
    struct Response: Sendable {
        var bytes: String
        /// Sent when the check calls ``ScriptedOrigin/sendRest()``.
        var later: String?
        var closes = false
        /// This number of further bytes, as fast as the peer reads them.
        var flood = 0

        init(_ bytes: String, then later: String? = nil, closes: Bool = false, flooding flood: Int = 0) {
            self.bytes = bytes
            self.later = later
            self.closes = closes
            self.flood = flood
        }

        /// The connection is closed without a response.
        static let hangUp = Response("", closes: true)
        /// No response.
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
    /// Keeps its port when it has stopped.
    private let held: HeldPort
    /// `127.0.0.1` with the port.
    var authority: String { "127.0.0.1:\(held.port)" }

    private init(_ responses: [Response]) throws {
        held = try HeldPort()
        state = Mutex(State(responses: responses))
    }

    /// Begins to listen on a port that is free.
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

    /// Stops listening and closes every connection. Its port refuses connections, and is no one
    /// else's.
    func stop() async {
        let listener = server.withLock { server in
            defer { server = nil }
            return server
        }
        try? await listener?.close()
        for channel in state.withLock({ $0.channels }) { try? await channel.close() }
    }

    /// Resumes all waiting checks and closes every connection, because the check took too long.
    func abort() {
        change { $0.isAborted = true }
        markStalled()
        for channel in state.withLock({ $0.channels }) { channel.close(promise: nil) }
    }

    /// The requests as they were on the wire: head, empty line, content.
    var requests: [String] { state.withLock { $0.requests } }

    /// Bytes of the flood that have left the process.
    var floodedBytes: Int { state.withLock { $0.floodedBytes } }

    /// Sends the rest of each response that has one.
    func sendRest() {
        let later = state.withLock { state in
            defer { state.later = nil }
            return state.later
        }
        if let later { later.channel.writeAndFlush(ByteBuffer(string: later.bytes), promise: nil) }
    }

    /// Waits for this number of requests.
    func waitForRequests(_ count: Int) async { await waitUntil { requests, _ in requests >= count } }

    /// Waits until this number of connections have been closed.
    func waitForClosed(_ count: Int) async { await waitUntil { _, closed in closed >= count } }

    /// Waits until a flood stops: either all of it was sent, or no byte was for five seconds. A
    /// busy machine delays a reader for less than that.
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

    /// Records a whole request and responds to it.
    fileprivate func receive(_ request: String, on channel: any Channel) {
        var response: Response?
        change { state in
            state.requests.append(request)
            response = state.responses.isEmpty ? nil : state.responses.removeFirst()
            if let later = response?.later { state.later = (channel, later) }
        }
        // No response is scripted for this request: the check finds it among the recorded ones.
        guard let response else { return channel.close(promise: nil) }
        if !response.bytes.isEmpty { channel.writeAndFlush(ByteBuffer(string: response.bytes), promise: nil) }
        if response.closes { channel.close(promise: nil) }
        if response.flood > 0 { pour(response.flood, into: channel) }
    }

    /// Writes a piece when the one before it has left.
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
