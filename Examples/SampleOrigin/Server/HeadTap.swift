import NIOCore
import NIOHTTP1

/// Keeps each request head as received, and sets each response's `Date` by the origin's clock.
///
/// The framework also sets `Date`, but its clock ticks only once per second. It may be a second
/// late, which would make a response look old when it arrives.
final class HeadTap: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private let state: OriginState

    init(state: OriginState) {
        self.state = state
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .head(let head) = unwrapInboundIn(data) {
            state.connections.addHead(RawRequestHead(head), on: context.channel)
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .head(var head) = unwrapOutboundIn(data) else {
            context.write(data, promise: promise)
            return
        }
        head.headers.replaceOrAdd(name: "Date", value: HTTPDate.string(secondsSince1970: state.now))
        context.write(wrapOutboundOut(.head(head)), promise: promise)
    }
}
