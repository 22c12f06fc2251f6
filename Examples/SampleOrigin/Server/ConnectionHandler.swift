import NIOCore
import NIOHTTP1

/// Registers its connection, and adds a ``HeadTap`` at a position in the pipeline where heads still
/// have their original form.
///
/// The framework adds a server's own handlers after its codec, so this handler inserts the tap
/// before the codec.
final class ConnectionHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny

    private let state: OriginState

    init(state: OriginState) {
        self.state = state
    }

    func handlerAdded(context: ChannelHandlerContext) {
        guard state.connections.register(context.channel) else {
            context.close(promise: nil)
            return
        }
        do {
            let operations = context.pipeline.syncOperations
            let decoder = try operations.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
            try operations.addHandler(HeadTap(state: state), position: .after(decoder))
        } catch {
            // Without the tap, requests would be recorded incorrectly, so it is better to close the
            // connection.
            context.fireErrorCaught(error)
            context.close(promise: nil)
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .some(.inputClosed) = event as? ChannelEvent {
            state.connections.markAbandoned(context.channel)
        }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        state.connections.unregister(context.channel)
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        state.connections.unregister(context.channel)
    }
}
