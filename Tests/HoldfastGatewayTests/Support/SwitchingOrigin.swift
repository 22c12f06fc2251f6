import NIOCore
import NIOPosix
import Synchronization

/// An origin that may switch to another protocol: it records the heads of requests, responds with
/// the bytes that a function makes of them, and then does with all further bytes what it is told.
final class SwitchingOrigin: Sendable {
    /// How it responds, and how it continues.
    struct Manner: Sendable {
        /// The response to a head. Those with 101 switch.
        var response: @Sendable (String) -> String = { SwitchingOrigin.switching(to: $0) }
        /// Gets each piece of further bytes. Default: sends it back.
        var receive: @Sendable (any Channel, ByteBuffer) -> Void = { channel, bytes in
            channel.writeAndFlush(bytes, promise: nil)
        }
        /// The peer sends no more. Default: closes.
        var end: @Sendable (any Channel) -> Void = { $0.close(promise: nil) }
        /// Whether it reads what comes after its response.
        var reads = true
        /// Called after the response.
        var begin: @Sendable (any Channel) -> Void = { _ in }
    }

    private struct State {
        var heads: [String] = []
        var bytes: [UInt8] = []
        var open: [ObjectIdentifier: any Channel] = [:]
        var accepted = 0
        var closed = 0
        var waiting: [(until: @Sendable (borrowing State) -> Bool, call: @Sendable () -> Void)] = []
    }

    private let manner: Manner
    private let state = Mutex(State())
    private let listener = Mutex<(any Channel)?>(nil)

    private init(_ manner: Manner) { self.manner = manner }

    /// `101` for the WebSocket handshake of a head, with the right `Sec-WebSocket-Accept`.
    static func switching(to head: String, fields: String = "") -> String {
        let key = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("sec-websocket-key:") }
        let accept = WebSocketAccept.value(for: key.map { String($0.dropFirst(18).drop { $0 == " " }) } ?? "")
        return "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            + "Sec-WebSocket-Accept: \(accept)\r\n\(fields)\r\n"
    }

    static func with<Value>(
        _ manner: Manner = Manner(),
        _ body: (SwitchingOrigin) async throws -> Value
    ) async throws -> Value {
        let origin = SwitchingOrigin(manner)
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    origin.opened(channel)
                    try channel.pipeline.syncOperations.addHandler(Handler(origin))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        origin.listener.withLock { $0 = channel }
        let result: Result<Value, any Error>
        do { result = .success(try await body(origin)) } catch { result = .failure(error) }
        try? await channel.close()
        for channel in origin.channels { try? await channel.close() }
        return try result.get()
    }

    var url: String { "http://127.0.0.1:\(listener.withLock { $0?.localAddress?.port ?? 0 })" }
    var heads: [String] { state.withLock { $0.heads } }
    /// The bytes behind the heads, of all connections.
    var bytes: [UInt8] { state.withLock { $0.bytes } }
    var acceptedCount: Int { state.withLock { $0.accepted } }
    var channels: [any Channel] { state.withLock { Array($0.open.values) } }

    /// Returns when so many connections have been closed, by either side.
    func connectionsClose(_ count: Int = 1) async { await wait { $0.closed >= count } }

    /// Returns when so many bytes have come behind heads.
    func bytesReach(_ count: Int) async { await wait { $0.bytes.count >= count } }

    /// Returns when so many heads have come.
    func headsReach(_ count: Int) async { await wait { $0.heads.count >= count } }

    private func wait(until isReached: @escaping @Sendable (borrowing State) -> Bool) async {
        await untilCalled { call in
            let isReachedNow = state.withLock { state in
                if isReached(state) { return true }
                state.waiting.append((isReached, call))
                return false
            }
            if isReachedNow { call() }
        }
    }

    private func change(_ change: (inout State) -> Void) {
        let reached = state.withLock { state in
            change(&state)
            let reached = state.waiting.filter { $0.until(state) }
            state.waiting = state.waiting.filter { !$0.until(state) }
            return reached
        }
        for (_, call) in reached { call() }
    }

    private func opened(_ channel: any Channel) {
        let id = ObjectIdentifier(channel)
        change { state in
            state.open[id] = channel
            state.accepted += 1
        }
        channel.closeFuture.whenComplete { _ in
            self.change { state in
                state.open[id] = nil
                state.closed += 1
            }
        }
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let origin: SwitchingOrigin
        private var head = ""
        private var hasSwitched = false

        init(_ origin: SwitchingOrigin) { self.origin = origin }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            var bytes = unwrapInboundIn(data)
            if !hasSwitched {
                head += String(buffer: bytes)
                guard let end = head.range(of: "\r\n\r\n") else { return }
                let rest = String(head[end.upperBound...])
                head = String(head[..<end.upperBound])
                let response = origin.manner.response(head)
                let isSwitching = response.hasPrefix("HTTP/1.1 101")
                context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: response)), promise: nil)
                hasSwitched = isSwitching
                let head = head
                origin.change { $0.heads.append(head) }
                self.head = ""
                bytes = ByteBuffer(string: rest)
                if isSwitching {
                    if !origin.manner.reads { try? context.channel.syncOptions?.setOption(.autoRead, value: false) }
                    origin.manner.begin(context.channel)
                }
                guard isSwitching else {
                    let unasked = Array(buffer: bytes)
                    return origin.change { $0.bytes += unasked }
                }
            }
            guard bytes.readableBytes > 0 else { return }
            let all = Array(buffer: bytes)
            origin.manner.receive(context.channel, bytes)
            origin.change { $0.bytes += all }
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if case ChannelEvent.inputClosed = event { origin.manner.end(context.channel) }
            context.fireUserInboundEventTriggered(event)
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}

extension String {
    /// The place of a text; without Foundation.
    fileprivate func range(of text: String) -> Range<String.Index>? {
        let wanted = Array(text.utf8)
        let bytes = Array(utf8)
        guard bytes.count >= wanted.count else { return nil }
        for start in 0...(bytes.count - wanted.count) {
            guard bytes[start..<(start + wanted.count)].elementsEqual(wanted) else { continue }
            return utf8.index(startIndex, offsetBy: start)..<utf8.index(startIndex, offsetBy: start + wanted.count)
        }
        return nil
    }
}
