import HTTPCacheSemantics
import HTTPTypes
import NIOCore

/// Answers a connection that is one too many: 503, at once, and closed.
final class BusyHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let service: GatewayService
    private let excess: ConnectionRegistry.Excess

    init(service: GatewayService, excess: ConnectionRegistry.Excess) {
        self.service = service
        self.excess = excess
    }

    func channelActive(context: ChannelHandlerContext) {
        var (head, body) = service.message(excess == .all ? .busy : .busyClient)
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

    fileprivate static let busyClient = Problem(
        code: "too-many-connections-of-client",
        title: "Too many connections of one client",
        status: 503,
        detail: "Your address has as many connections to the gateway as one may have. Close some, or use them for more than one request.",
        outcome: CacheOutcome(detail: CacheOutcome.Detail("refused"))
    )
}
