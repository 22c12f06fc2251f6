import HTTPCacheSemantics
import HTTPTypes
import NIOCore

/// Answers a connection that is one too many: 503, at once, and closed.
final class BusyHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let service: GatewayService

    init(service: GatewayService) {
        self.service = service
    }

    func channelActive(context: ChannelHandlerContext) {
        var (head, body) = service.message(.busy)
        head.headerFields[.retryAfter] = "1"
        var octets = ByteBuffer()
        octets.writeStatusLine(head.status)
        octets.writeFields(head.headerFields)
        octets.writeField("Connection", "close")
        octets.writeEndOfHead()
        octets.writeImmutableBuffer(body)
        context.writeAndFlush(wrapOutboundOut(octets), promise: nil)
        context.close(promise: nil)
    }
}

extension Problem {
    fileprivate static let busy = Problem(
        code: "too-many-connections",
        title: "Too many connections",
        status: 503,
        detail: "The gateway has as many connections as it may have. Try again.",
        outcome: CacheOutcome(detail: CacheOutcome.Detail("refused"))
    )
}
