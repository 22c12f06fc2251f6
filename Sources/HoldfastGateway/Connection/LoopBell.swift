import NIOCore
import NIOPosix

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Has an event loop look at its sockets before it goes on with something.
///
/// A loop does all that is due before it looks, and a timer would have it wait. So what is to be
/// gone on with is told by a byte that goes through a pipe: it is read after a look, and with it
/// what else had come until then.
final class LoopBell: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let byte = ByteBuffer(bytes: [0])
    private var context: ChannelHandlerContext?
    private var action: (() -> Void)?

    /// A bell of a loop, for ``LoopExecutor/bell``; it is the channel's as long as that is open.
    ///
    /// - Throws: what the system says where there are no descriptors left.
    static func hang(on eventLoop: any EventLoop, for executor: LoopExecutor) async throws -> any Channel {
        var ends: [CInt] = [-1, -1]
        guard pipe(&ends) == 0 else { throw IOError(errnoCode: errno, reason: "pipe") }
        // Nothing that the process starts is to hold it.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        do {
            return try await NIOPipeBootstrap(group: eventLoop)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        let bell = LoopBell()
                        executor.bell.value = bell
                        try channel.pipeline.syncOperations.addHandler(bell)
                    }
                }
                .takingOwnershipOfDescriptors(input: ends[0], output: ends[1]).get()
        } catch {
            for end in ends { close(end) }
            throw error
        }
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        goOn(context.eventLoop)
    }

    /// Does something when the loop has looked at its sockets. One thing at a time.
    ///
    /// - Returns: `false` where nobody would hear it: then it is not done.
    func ring(_ action: @escaping () -> Void) -> Bool {
        guard let context, context.channel.isActive else { return false }
        self.action = action
        context.writeAndFlush(wrapOutboundOut(byte), promise: nil)
        return true
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // Behind the other sockets of this look.
        goOn(context.eventLoop)
    }

    private func goOn(_ eventLoop: any EventLoop) {
        guard let action = action.take() else { return }
        eventLoop.assumeIsolated().execute(action)
    }
}
