import NIOCore

/// Counts what comes from an origin before TLS decrypts it. A record of which only a part has come
/// is a response that has begun, and nothing above TLS knows of it.
final class ArrivalCounter: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private(set) var count = 0

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        count += 1
        context.fireChannelRead(data)
    }
}
