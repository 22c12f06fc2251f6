import NIOCore

/// Counts reads of an origin's bytes before TLS decrypts them. A partial TLS record means that a
/// response has begun, but nothing above TLS can see it.
final class ArrivalCounter: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private(set) var count = 0

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        count += 1
        context.fireChannelRead(data)
    }
}
