import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// An origin that responds with bytes, and closes connections within them.
final class CuttingOrigin: Sendable {
    /// One request as it came.
    struct Request: Sendable {
        /// Request line and fields.
        var head: String
        var content: String
        /// The number of the request on its connection, from 0.
        var number: Int
        /// How often this target was requested before.
        var repeats: Int

        var target: String { head.split(separator: " ").dropFirst().first.map { String($0) } ?? "" }

        /// The value of a field; `nil` if there is none.
        func value(_ name: String) -> String? {
            head.split(separator: "\r\n").dropFirst()
                .first { $0.lowercased().hasPrefix(name.lowercased() + ":") }
                .map { line in String(line.dropFirst(name.count + 1).drop { $0 == " " }) }
        }
    }

    /// The reaction to a request.
    enum Reaction: Sendable {
        case respond(String)
        /// Sends so much, then closes the connection.
        case close(after: String = "")
        /// Resets the connection.
        case reset
        /// Responds when all requests that are held have come.
        case hold(String)
    }

    static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    private struct State {
        var requests: [Request] = []
        var connections = 0
        var held: [(any Channel, String)] = []
    }

    private let state = Mutex(State())
    private let react: @Sendable (Request) -> Reaction
    private let heldCount: Int
    private let listener = Mutex<(any Channel)?>(nil)

    private init(holding heldCount: Int, _ react: @escaping @Sendable (Request) -> Reaction) {
        self.heldCount = heldCount
        self.react = react
    }

    /// Runs an origin for the duration of the body.
    ///
    /// - Parameter heldCount: the number of requests that are held until all have come.
    static func with<Value>(
        tls: NIOSSLContext? = nil,
        holding heldCount: Int = 0,
        _ react: @escaping @Sendable (Request) -> Reaction,
        _ body: (CuttingOrigin) async throws -> Value
    ) async throws -> Value {
        let origin = CuttingOrigin(holding: heldCount, react)
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 1024)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    origin.state.withLock { $0.connections += 1 }
                    if let tls { try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls)) }
                    try channel.pipeline.syncOperations.addHandler(Handler(origin))
                }
            }
            .bind(host: "127.0.0.1", port: 0)
            .get()
        origin.listener.withLock { $0 = channel }
        do {
            let value = try await body(origin)
            try await channel.close()
            return value
        } catch {
            try? await channel.close()
            throw error
        }
    }

    var port: Int { listener.withLock { $0?.localAddress?.port ?? 0 } }
    var requests: [Request] { state.withLock { $0.requests } }
    var connectionCount: Int { state.withLock { $0.connections } }

    /// The number of requests for a target.
    func count(_ target: String) -> Int { requests.filter { $0.target == target }.count }

    fileprivate func received(_ head: String, _ content: String, _ number: Int, on channel: any Channel) {
        var request = Request(head: head, content: content, number: number, repeats: 0)
        state.withLock { state in
            request.repeats = state.requests.filter { $0.target == request.target }.count
            state.requests.append(request)
        }
        switch react(request) {
        case .respond(let text): channel.writeAndFlush(ByteBuffer(string: text), promise: nil)
        case .close(let text) where text.isEmpty: channel.close(promise: nil)
        case .close(let text):
            channel.writeAndFlush(ByteBuffer(string: text)).whenComplete { _ in channel.close(promise: nil) }
        case .reset:
            // A close without time to linger is a reset.
            let socket = channel as? any SocketOptionProvider
            socket?.setSoLinger(linger(l_onoff: 1, l_linger: 0)).whenComplete { _ in channel.close(promise: nil) }
        case .hold(let text):
            let released = state.withLock { state in
                state.held.append((channel, text))
                guard state.held.count == heldCount else { return [(any Channel, String)]() }
                defer { state.held = [] }
                return state.held
            }
            for (channel, text) in released { channel.writeAndFlush(ByteBuffer(string: text), promise: nil) }
        }
    }

    /// Splits the received bytes into requests by `Content-Length`.
    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let origin: CuttingOrigin
        private var gathered = ""
        private var number = 0

        init(_ origin: CuttingOrigin) { self.origin = origin }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            gathered += String(buffer: unwrapInboundIn(data))
            while let end = gathered.firstRange(of: "\r\n\r\n") {
                let head = String(gathered[..<end.lowerBound])
                let request = Request(head: head, content: "", number: 0, repeats: 0)
                let length = request.value("content-length").flatMap { Int($0) } ?? 0
                let rest = gathered[end.upperBound...].utf8
                guard rest.count >= length else { return }
                let content = String(decoding: rest.prefix(length), as: UTF8.self)
                gathered = String(decoding: rest.dropFirst(length), as: UTF8.self)
                origin.received(head, content, number, on: context.channel)
                number += 1
            }
        }
    }
}
