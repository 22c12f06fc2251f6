import NIOCore
import NIOPosix

/// An origin whose responses vary by the field that the path names: `/Accept-Language/…`. It reads
/// nothing else of a request, so that long heads cost it little.
enum VaryingOrigin {
    static func with(_ body: (_ url: String) async throws -> Void) async throws {
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Handler())
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let result: Result<Void, any Error>
        do {
            result = .success(try await body("http://127.0.0.1:\(channel.localAddress?.port ?? 0)"))
        } catch {
            result = .failure(error)
        }
        try await channel.close()
        try result.get()
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private var received = ByteBuffer()

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            var bytes = unwrapInboundIn(data)
            received.writeBuffer(&bytes)
            guard received.readableBytesView.suffix(4).elementsEqual("\r\n\r\n".utf8) else { return }
            let line = received.readableBytesView.prefix { $0 != UInt8(ascii: "\r") }
            let name = String(decoding: line, as: UTF8.self).split(separator: "/").dropFirst().first ?? "-"
            received.clear()
            let response =
                "HTTP/1.1 200 OK\r\nCache-Control: public, max-age=3600\r\nETag: \"a\"\r\nVary: \(name)\r\n"
                + "Content-Length: 2\r\n\r\nok"
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: response)), promise: nil)
        }
    }
}
