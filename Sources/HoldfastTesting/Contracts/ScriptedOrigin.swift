import NIOCore
import NIOPosix
import Synchronization

/// A socket on loopback that answers one request after the other with bytes it was told, and notes
/// what it was sent.
final class ScriptedOrigin: Sendable {
    /// What is done about one request.
    struct Answer: Sendable {
        var bytes: String
        /// Sent when the check says ``ScriptedOrigin/goOn()``.
        var later: String?
        var closes = false
        /// So many bytes more, as fast as they are taken.
        var flood = 0

        init(_ bytes: String, then later: String? = nil, closes: Bool = false, flooding flood: Int = 0) {
            self.bytes = bytes
            self.later = later
            self.closes = closes
            self.flood = flood
        }

        /// The connection is closed without a word.
        static let hangUp = Answer("", closes: true)
        /// Nothing comes.
        static let silence = Answer("")
    }

    private struct State {
        var answers: [Answer]
        var requests: [String] = []
        var channels: [any Channel] = []
        var closed = 0
        var waiting: [(condition: @Sendable (Int, Int) -> Bool, continuation: CheckedContinuation<Void, Never>)] = []
        var later: (channel: any Channel, bytes: String)?
        var flooded = 0
        var isStalled = false
        var stallWaiter: CheckedContinuation<Void, Never>?
        var isGivenUp = false
    }

    private let state: Mutex<State>
    private let server: Mutex<(any Channel)?> = Mutex(nil)
    /// `127.0.0.1` with the port.
    var authority: String { "127.0.0.1:\(port.load(ordering: .relaxed))" }
    private let port = Atomic(0)

    private init(_ answers: [Answer]) { state = Mutex(State(answers: answers)) }

    /// Begins to listen on a port that is free.
    static func start(_ answers: [Answer]) async throws -> ScriptedOrigin {
        let origin = ScriptedOrigin(answers)
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(RequestHandler(origin))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        origin.port.store(channel.localAddress?.port ?? 0, ordering: .relaxed)
        origin.server.withLock { $0 = channel }
        return origin
    }

    /// Stops listening and closes every connection.
    func stop() async {
        let listener = server.withLock { server in
            defer { server = nil }
            return server
        }
        try? await listener?.close()
        for channel in state.withLock({ $0.channels }) { try? await channel.close() }
    }

    /// Lets everybody who waits go on, and closes every connection, so that the other side does
    /// too: the check took too long.
    func giveUp() {
        change { $0.isGivenUp = true }
        stalled()
        for channel in state.withLock({ $0.channels }) { channel.close(promise: nil) }
    }

    /// The requests as they were on the wire: head, empty line, content.
    var requests: [String] { state.withLock { $0.requests } }

    /// Bytes of the flood that have left the process.
    var flooded: Int { state.withLock { $0.flooded } }

    /// Sends what was kept for later.
    func goOn() {
        let later = state.withLock { state in
            defer { state.later = nil }
            return state.later
        }
        if let later { later.channel.writeAndFlush(ByteBuffer(string: later.bytes), promise: nil) }
    }

    /// Waits until so many requests have come.
    func received(_ count: Int) async { await until { requests, _ in requests >= count } }

    /// Waits until so many connections have been closed.
    func closed(_ count: Int) async { await until { _, closed in closed >= count } }

    /// Waits until a flood gets no further: nothing has left for five seconds, longer than a busy
    /// machine lets a reader wait, or everything has.
    func stalls() async {
        await withCheckedContinuation { continuation in
            let isStalled = state.withLock { state in
                if state.isStalled { return true }
                state.stallWaiter = continuation
                return false
            }
            if isStalled { continuation.resume() }
        }
    }

    private func until(_ condition: @escaping @Sendable (Int, Int) -> Bool) async {
        await withCheckedContinuation { continuation in
            let isMet = state.withLock { state in
                if state.isGivenUp || condition(state.requests.count, state.closed) { return true }
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
            let isGivenUp = state.isGivenUp
            let due = state.waiting.filter { isGivenUp || $0.condition(requests, closed) }.map(\.continuation)
            state.waiting.removeAll { isGivenUp || $0.condition(requests, closed) }
            return due
        }
        for continuation in due { continuation.resume() }
    }

    fileprivate func opened(_ channel: any Channel) { change { $0.channels.append(channel) } }

    fileprivate func ended() { change { $0.closed += 1 } }

    /// Takes a whole request and answers it.
    fileprivate func take(_ request: String, on channel: any Channel) {
        var answer: Answer?
        change { state in
            state.requests.append(request)
            answer = state.answers.isEmpty ? nil : state.answers.removeFirst()
            if let later = answer?.later { state.later = (channel, later) }
        }
        // Nothing is scripted for this one: that it came is what the check finds.
        guard let answer else { return channel.close(promise: nil) }
        if !answer.bytes.isEmpty { channel.writeAndFlush(ByteBuffer(string: answer.bytes), promise: nil) }
        if answer.closes { channel.close(promise: nil) }
        if answer.flood > 0 { pour(answer.flood, into: channel) }
    }

    /// Writes a piece when the one before it has left.
    private func pour(_ left: Int, into channel: any Channel) {
        guard left > 0 else { return stalled() }
        let piece = ByteBuffer(repeating: 7, count: min(left, 1 << 18))
        let guardian = channel.eventLoop.scheduleTask(in: .seconds(5)) { self.stalled() }
        channel.writeAndFlush(piece).whenComplete { result in
            guardian.cancel()
            guard case .success = result else { return self.stalled() }
            self.state.withLock { $0.flooded += piece.readableBytes }
            self.pour(left - piece.readableBytes, into: channel)
        }
    }

    private func stalled() {
        let waiter = state.withLock { state in
            state.isStalled = true
            defer { state.stallWaiter = nil }
            return state.stallWaiter
        }
        waiter?.resume()
    }

    /// Cuts what arrives into requests by `Content-Length`.
    private final class RequestHandler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let origin: ScriptedOrigin
        private var gathered: [UInt8] = []

        init(_ origin: ScriptedOrigin) { self.origin = origin }

        func channelActive(context: ChannelHandlerContext) { origin.opened(context.channel) }

        func channelInactive(context: ChannelHandlerContext) { origin.ended() }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            gathered += Array(unwrapInboundIn(data).readableBytesView)
            while let end = endOfRequest {
                let request = String(decoding: gathered[..<end], as: UTF8.self)
                gathered.removeFirst(end)
                origin.take(request, on: context.channel)
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
