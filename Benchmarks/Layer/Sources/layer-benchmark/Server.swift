import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix

/// Serves the same JSON for every request, as cheaply as possible, until its standard input ends.
/// It runs in a process of its own, so that its work is not measured.
enum Server {
    static func run() async throws {
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup(numberOfThreads: 1))
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(Handler())
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        // Not 'print', whose output to a pipe would wait in a buffer.
        try FileHandle.standardOutput.write(contentsOf: Data("\(channel.localAddress?.port ?? 0)\n".utf8))
        while readLine() != nil {}
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart
        private let content = ByteBuffer(string: Content.json)
        private var isStored = false

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .head(let head): isStored = head.uri.hasPrefix("/stored")
            case .body: break
            case .end:
                let head = HTTPResponseHead(
                    version: .http1_1,
                    status: .ok,
                    headers: [
                        "content-type": "application/json", "content-length": "\(content.readableBytes)",
                        "cache-control": isStored ? "max-age=600" : "no-store", "etag": "\"1\"",
                    ]
                )
                context.write(wrapOutboundOut(.head(head)), promise: nil)
                context.write(wrapOutboundOut(.body(.byteBuffer(content))), promise: nil)
                context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
            }
        }
    }
}
