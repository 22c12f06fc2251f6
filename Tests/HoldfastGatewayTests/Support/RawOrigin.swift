import HoldfastTesting
import LibC
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

@testable import EventLoops
@testable import HoldfastGateway

/// An origin that does not understand HTTP: it records the bytes that it gets, and responds with
/// the bytes of a script.
///
/// ```swift
/// let response = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
/// try await RawOrigin.with([.response(response)]) { origin in
///     …  // origin.url, then origin.requests
/// }
/// ```
///
/// Steps are used in order over all connections, one for each request whose head (and content, by
/// its framing) has come completely. A request beyond the script gets the response of a function if
/// there is one; else it gets 500 and is counted in ``unscripted``.
final class RawOrigin: Sendable {
    /// Its reaction to one request.
    enum Step: Sendable {
        /// Sends bytes and keeps the connection.
        case response([UInt8])
        /// Sends bytes, then closes the connection, cleanly.
        case respondAndClose([UInt8])
        /// Sends bytes, then resets the connection.
        case respondAndReset([UInt8])
        /// Sends the pieces that the function writes, each after the one before was sent.
        case stream(@Sendable (RawOriginWriter) async throws -> Void)
        /// Responds when the head has come, without waiting for the content.
        case early([UInt8])
        /// Sends nothing, and keeps the connection.
        case silence
        /// The step that the function returns for the request.
        case choose(@Sendable (Request) -> Step)
        /// Sends the bytes that the function makes of the request, and keeps the connection.
        case reflect(@Sendable (Request) -> [UInt8])

        /// Bytes of a text.
        static func response(_ text: String) -> Step { .response(Array(text.utf8)) }
        /// Bytes of a text, then a close.
        static func respondAndClose(_ text: String) -> Step { .respondAndClose(Array(text.utf8)) }
        /// Closes the connection without a response.
        static let hangUp = Step.respondAndClose([])
        /// `200` with a length and this content; more fields as lines, each with its CRLF.
        static func ok(_ content: String, fields: String = "") -> Step {
            .response("HTTP/1.1 200 OK\r\n\(fields)Content-Length: \(content.utf8.count)\r\n\r\n\(content)")
        }
    }

    /// One request as it came.
    struct Request: Sendable {
        /// Request line and fields, with the empty line.
        var head: [UInt8]
        /// The content, with its framing.
        var content: [UInt8]
        /// The connection's number, from 0.
        var connection: Int

        var text: String { String(decoding: head, as: UTF8.self) }
        var line: String { String(text.prefix { $0 != "\r\n" }) }
        var target: String { line.split(separator: " ").dropFirst().first.map { String($0) } ?? "" }
        var contentText: String { String(decoding: content, as: UTF8.self) }
        /// The lines behind the last chunk of chunked content.
        var trailers: [String] {
            guard values("transfer-encoding") == ["chunked"] else { return [] }
            let text = contentText
            let last = text.hasPrefix("0\r\n") ? text[...] : text.split(separator: "\r\n0\r\n", maxSplits: 1).last ?? ""
            return last.split(separator: "\r\n").map { String($0) }.filter { $0 != "0" }
        }

        /// The values of the field lines of a name, in order.
        func values(_ name: String) -> [String] {
            text.split(separator: "\r\n").dropFirst().compactMap { line in
                let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
                guard parts.count == 2, parts[0].lowercased() == name.lowercased() else { return nil }
                return String(parts[1].drop { $0 == " " })
            }
        }
    }

    fileprivate struct State {
        var steps: [Step]
        var requests: [Request] = []
        var connections = 0
        var open: [ObjectIdentifier: any Channel] = [:]
        var unscripted = 0
        var waiting: [(count: Int, call: @Sendable () -> Void)] = []
        var waitingForClose: [@Sendable () -> Void] = []
        var closed = 0
    }

    private let state: Mutex<State>
    private let listener: Mutex<(any Channel)?>
    /// Keeps its port when it has stopped.
    private let held: HeldPort
    private let tls: NIOSSLContext?
    private let respond: (@Sendable (Request) -> Step)?

    private init(_ steps: [Step], tls: NIOSSLContext?, respond: (@Sendable (Request) -> Step)? = nil) throws {
        held = try HeldPort()
        self.tls = tls
        self.respond = respond
        state = Mutex(State(steps: steps))
        listener = Mutex(nil)
    }

    /// Runs an origin for the duration of the body.
    ///
    /// - Parameters:
    ///   - tls: with ``TestCertificates``, say; `nil` for plain TCP.
    ///   - respond: the step for a request beyond the script.
    static func with<Value>(
        _ steps: [Step] = [],
        tls: NIOSSLContext? = nil,
        respond: (@Sendable (Request) -> Step)? = nil,
        _ body: (RawOrigin) async throws -> Value
    ) async throws -> Value {
        let origin = try RawOrigin(steps, tls: tls, respond: respond)
        try await origin.start()
        do {
            let value = try await body(origin)
            await origin.stop()
            return value
        } catch {
            await origin.stop()
            throw error
        }
    }

    var port: Int { held.port }
    var authority: String { "127.0.0.1:\(port)" }
    var url: String { "\(tls == nil ? "http" : "https")://\(authority)" }

    /// The requests so far, in the order of their responses.
    var requests: [Request] { state.withLock { $0.requests } }
    /// The number of connections accepted so far.
    var connectionCount: Int { state.withLock { $0.connections } }
    /// The number of requests without a step.
    var unscripted: Int { state.withLock { $0.unscripted } }

    /// Adds steps to the script.
    func script(_ steps: Step...) {
        state.withLock { $0.steps += steps }
    }

    /// Returns when this many requests have come.
    func requests(reach count: Int) async {
        await untilCalled { call in
            let isReached = state.withLock { state in
                if state.requests.count < count { state.waiting.append((count, call)) }
                return state.requests.count >= count
            }
            if isReached { call() }
        }
    }

    /// Returns when a connection has been closed, by either side.
    func connectionCloses() async {
        await untilCalled { call in
            let isClosed = state.withLock { state in
                if state.closed == 0 { state.waitingForClose.append(call) }
                return state.closed > 0
            }
            if isClosed { call() }
        }
    }

    /// Closes all connections and accepts no more: the origin is gone, and its port refuses
    /// connections.
    func stop() async {
        let channel = listener.withLock { $0.take() }
        if let channel { await Self.close(channel, shutsDown: true) }
        // With TLS, the peer is first told that the connection ends.
        for channel in state.withLock({ Array($0.open.values) }) {
            await Self.close(channel, shutsDown: tls == nil)
        }
    }

    /// Closes a channel and its socket. A child process that another test is starting has a copy of
    /// the socket for a moment, so closing the channel is not enough.
    private static func close(_ channel: any Channel, shutsDown: Bool) async {
        if shutsDown {
            try? await channel.eventLoop.submit {
                _ = try channel.socket?.withUnsafeTransport { shutdown($0, CInt(SHUT_RDWR)) }
            }.get()
        }
        try? await channel.close()
    }

    private func start() async throws {
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let number = self.opened(channel)
                    if let tls = self.tls {
                        try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls))
                    }
                    try channel.pipeline.syncOperations.addHandler(RawOriginHandler(origin: self, connection: number))
                }
            }
            .bind(host: "127.0.0.1", port: held.port)
            .get()
        listener.withLock { $0 = channel }
    }

    private func opened(_ channel: any Channel) -> Int {
        let id = ObjectIdentifier(channel)
        channel.closeFuture.whenComplete { _ in
            let waiting = self.state.withLock { state in
                state.open[id] = nil
                state.closed += 1
                defer { state.waitingForClose = [] }
                return state.waitingForClose
            }
            for call in waiting { call() }
        }
        return state.withLock { state in
            state.open[id] = channel
            defer { state.connections += 1 }
            return state.connections
        }
    }

    fileprivate var answersEarly: Bool {
        state.withLock { if case .early? = $0.steps.first { true } else { false } }
    }

    fileprivate func received(_ request: Request) -> Step {
        let (step, waiting) = state.withLock { state in
            state.requests.append(request)
            let count = state.requests.count
            let reached = state.waiting.filter { $0.count <= count }
            state.waiting.removeAll { $0.count <= count }
            guard !state.steps.isEmpty else {
                if let respond { return (respond(request), reached) }
                state.unscripted += 1
                return (Step.response("HTTP/1.1 500 Unscripted\r\nContent-Length: 0\r\n\r\n"), reached)
            }
            return (state.steps.removeFirst(), reached)
        }
        for (_, call) in waiting { call() }
        return step
    }
}

/// Sends bytes on a connection of a ``RawOrigin``.
struct RawOriginWriter: Sendable {
    fileprivate let channel: any Channel

    /// Returns when the system has taken the bytes; throws when the connection is gone.
    func write(_ bytes: [UInt8]) async throws {
        try await channel.writeAndFlush(ByteBuffer(bytes: bytes))
    }

    /// Returns when the system has taken the text.
    func write(_ text: String) async throws { try await write(Array(text.utf8)) }

    /// Writes one text right after the other: no other step comes between them. Returns when the
    /// system has taken both.
    func write(_ first: String, _ second: String) async throws {
        try await channel.eventLoop.flatSubmit { [channel] in
            channel.writeAndFlush(ByteBuffer(string: first), promise: nil)
            return channel.writeAndFlush(ByteBuffer(string: second))
        }.get()
    }

    func close() async { try? await channel.close() }

    /// The connection's descriptor, for as long as the connection is open.
    func descriptor() async throws -> NIOBSDSocket.Handle {
        try await channel.eventLoop.submit { [channel] in
            let core = channel._channelCore as? any NIOTransportAccessibleChannelCore<NIOBSDSocket.Handle>
            return try core?.withUnsafeTransport { $0 } ?? -1
        }.get()
    }
}

private final class RawOriginHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let origin: RawOrigin
    private let connection: Int
    private var received: [UInt8] = []

    init(origin: RawOrigin, connection: Int) {
        self.origin = origin
        self.connection = connection
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        received += Array(unwrapInboundIn(data).readableBytesView)
        while let request = next() {
            var step = origin.received(request)
            while case .choose(let choose) = step { step = choose(request) }
            perform(step, request, context.channel)
        }
    }

    private func next() -> RawOrigin.Request? {
        guard let headEnd = end(of: "\r\n\r\n", from: 0) else { return nil }
        var request = RawOrigin.Request(head: Array(received[..<headEnd]), content: [], connection: connection)
        var contentEnd = headEnd
        if !origin.answersEarly {
            if let length = request.values("content-length").first.flatMap({ Int($0) }) {
                contentEnd = headEnd + length
            } else if request.values("transfer-encoding").contains("chunked") {
                guard let end = endOfChunks(from: headEnd) else { return nil }
                contentEnd = end
            }
        }
        guard received.count >= contentEnd else { return nil }
        request.content = Array(received[headEnd..<contentEnd])
        received.removeSubrange(..<contentEnd)
        return request
    }

    /// The end of chunked content, with its trailer section; `nil` if it has not come.
    private func endOfChunks(from start: Int) -> Int? {
        var place = start
        while let line = end(of: "\r\n", from: place) {
            guard let size = Int(String(decoding: received[place..<(line - 2)], as: UTF8.self), radix: 16) else {
                return nil
            }
            place = line
            guard size == 0 else {
                place += size + 2
                continue
            }
            while let next = end(of: "\r\n", from: place) {
                if next == place + 2 { return next }
                place = next
            }
            return nil
        }
        return nil
    }

    private func end(of text: String, from start: Int) -> Int? {
        let wanted = Array(text.utf8)
        guard received.count >= start + wanted.count else { return nil }
        return (start...(received.count - wanted.count))
            .first { received[$0..<($0 + wanted.count)].elementsEqual(wanted) }
            .map { $0 + wanted.count }
    }

    private func perform(_ step: RawOrigin.Step, _ request: RawOrigin.Request, _ channel: any Channel) {
        switch step {
        case .reflect(let response):
            channel.writeAndFlush(ByteBuffer(bytes: response(request)), promise: nil)
        case .response(let bytes), .early(let bytes):
            channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil)
        case .respondAndClose(let bytes):
            channel.writeAndFlush(ByteBuffer(bytes: bytes)).whenComplete { _ in channel.close(promise: nil) }
        case .respondAndReset(let bytes):
            channel.writeAndFlush(ByteBuffer(bytes: bytes)).whenComplete { _ in channel.reset() }
        case .stream(let write):
            Task {
                do {
                    try await write(RawOriginWriter(channel: channel))
                } catch {
                    try? await channel.close()
                }
            }
        case .silence, .choose:
            break
        }
    }
}
