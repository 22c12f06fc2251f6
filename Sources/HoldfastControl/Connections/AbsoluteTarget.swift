import NIOCore
import NIOHTTP1

/// Replaces `Host` with the host of a request target in absolute form. RFC 9112 §3.2.2
///
/// This handler runs before the types that serve requests. Those types combine the target's path
/// with `Host`, so later code could not tell whether the two hosts differed.
final class AbsoluteTarget: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(var head) = unwrapInboundIn(data), let authority = Self.authority(head.uri) else {
            return context.fireChannelRead(data)
        }
        // Leave several `Host` fields as they are. A later check rejects them.
        if head.headers["host"].count < 2 { head.headers.replaceOrAdd(name: "Host", value: authority) }
        context.fireChannelRead(wrapInboundOut(.head(head)))
    }

    /// Returns the authority of a target in absolute form, or `nil` for a path.
    static func authority(_ target: String) -> String? {
        guard !target.hasPrefix("/"), let start = target.firstRange(of: "://")?.upperBound else { return nil }
        return String(target[start...].prefix { !"/?#".contains($0) })
    }

    /// Inserts handlers directly after the connection's decoder. The server's API can only insert
    /// handlers after its own handlers.
    final class Placement: ChannelInboundHandler, RemovableChannelHandler {
        typealias InboundIn = NIOAny

        private let makeHandlers: () -> [any ChannelHandler]

        init(_ makeHandlers: @escaping () -> [any ChannelHandler]) { self.makeHandlers = makeHandlers }

        func handlerAdded(context: ChannelHandlerContext) {
            do {
                let pipeline = context.pipeline.syncOperations
                let decoder = try pipeline.context(handlerType: ByteToMessageHandler<HTTPRequestDecoder>.self).handler
                try pipeline.addHandlers(makeHandlers(), position: .after(decoder))
            } catch {
                // Without the handlers, no limit would be enforced.
                context.close(promise: nil)
            }
        }
    }
}
