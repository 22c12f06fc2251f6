import NIOCore
import NIOPosix
import Synchronization

/// A proxy that opens tunnels by CONNECT. RFC 9110 §9.3.6
final class TunnelProxy: Sendable {
    private struct State {
        var targets: [String] = []
        var credentials: [String?] = []
    }

    private let state = Mutex(State())
    private let required: String?
    private let listener = Mutex<(any Channel)?>(nil)

    private init(requiring required: String?) { self.required = required }

    /// Runs a proxy for the duration of the body.
    ///
    /// - Parameter required: the value of `Proxy-Authorization` that it requires.
    static func with<Value>(requiring required: String? = nil, _ body: (TunnelProxy) async throws -> Value) async throws
        -> Value
    {
        let proxy = TunnelProxy(requiring: required)
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 1024)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(ClientSide(proxy))
                }
            }
            .bind(host: "127.0.0.1", port: 0)
            .get()
        proxy.listener.withLock { $0 = channel }
        do {
            let value = try await body(proxy)
            try await channel.close()
            return value
        } catch {
            try? await channel.close()
            throw error
        }
    }

    var port: UInt16 { listener.withLock { UInt16($0?.localAddress?.port ?? 0) } }
    /// The authorities to which tunnels were requested.
    var targets: [String] { state.withLock { $0.targets } }

    /// - Returns: the response that rejects a request; `nil` if it gets its tunnel.
    private func rejection(_ target: String, _ credentials: String?) -> String? {
        state.withLock { $0.targets.append(target) }
        guard required != nil, credentials != required else { return nil }
        return "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"a\"\r\n\r\n"
    }

    /// Passes bytes on.
    private final class Relay: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        private let other: any Channel

        init(to other: any Channel) { self.other = other }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            other.writeAndFlush(unwrapInboundIn(data), promise: nil)
        }

        func channelInactive(context: ChannelHandlerContext) { other.close(promise: nil) }
    }

    private final class ClientSide: ChannelInboundHandler, RemovableChannelHandler {
        typealias InboundIn = ByteBuffer
        private let proxy: TunnelProxy
        private var gathered = ""

        init(_ proxy: TunnelProxy) { self.proxy = proxy }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            gathered += String(buffer: unwrapInboundIn(data))
            guard gathered.hasSuffix("\r\n\r\n") else { return }
            let lines = gathered.split(separator: "\r\n").map { String($0) }
            let words = lines.first?.split(separator: " ").map { String($0) } ?? []
            let field = "proxy-authorization: "
            let credentials = lines.first { $0.lowercased().hasPrefix(field) }.map { String($0.dropFirst(field.count)) }
            let client = context.channel
            guard words.first == "CONNECT", words.count == 3 else { return client.close(promise: nil) }
            if let rejection = proxy.rejection(words[1], credentials) {
                client.writeAndFlush(ByteBuffer(string: rejection)).whenComplete { _ in client.close(promise: nil) }
                return
            }
            let parts = words[1].split(separator: ":")
            open(parts.first.map { String($0) } ?? "", parts.last.flatMap { Int($0) } ?? 0, for: context)
        }

        private func open(_ host: String, _ port: Int, for context: ChannelHandlerContext) {
            let client = context.channel
            ClientBootstrap(group: context.eventLoop)
                .connectTimeout(.hours(1))
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(Relay(to: client))
                    }
                }
                .connect(host: host, port: port)
                .assumeIsolated()
                .whenComplete { result in
                    switch result {
                    case .failure:
                        client.writeAndFlush(ByteBuffer(string: "HTTP/1.1 502 Bad Gateway\r\n\r\n"))
                            .whenComplete { _ in client.close(promise: nil) }
                    case .success(let origin):
                        try? client.pipeline.syncOperations.addHandler(Relay(to: origin))
                        client.pipeline.syncOperations.removeHandler(self, promise: nil)
                        client.writeAndFlush(ByteBuffer(string: "HTTP/1.1 200 OK\r\n\r\n"), promise: nil)
                    }
                }
        }
    }
}
