import NIOCore
import NIOHTTP1

/// Makes the host of a target in absolute form that of the request, whatever `Host` says. RFC 9112
/// §3.2.2
///
/// It stands before the types in which requests are served: they have the path of such a target,
/// and the host of `Host`, so nothing behind it could tell.
final class AbsoluteTarget: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(var head) = unwrapInboundIn(data), let authority = Self.authority(head.uri) else {
            return context.fireChannelRead(data)
        }
        // Several are an error, which is left to be found.
        if head.headers["host"].count < 2 { head.headers.replaceOrAdd(name: "Host", value: authority) }
        context.fireChannelRead(wrapInboundOut(.head(head)))
    }

    /// The authority of a target in absolute form; `nil` for a path.
    static func authority(_ target: String) -> String? {
        guard !target.hasPrefix("/"), let start = target.firstRange(of: "://")?.upperBound else { return nil }
        return String(target[start...].prefix { !"/?#".contains($0) })
    }

    /// Puts handlers behind the decoder of their connection. The server itself lets handlers in
    /// behind its own types alone.
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
                // Without them, no rule would hold.
                context.close(promise: nil)
            }
        }
    }
}
