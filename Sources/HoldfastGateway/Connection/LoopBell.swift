import NIOCore
import NIOPosix

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Makes an event loop poll its sockets before it runs an action.
///
/// A loop does all that is due before it polls, and a timer would make it wait. So a byte goes
/// through a pipe: the loop reads it when it polls, together with all else that came until then.
final class LoopBell: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let byte = ByteBuffer(bytes: [0])
    private var context: ChannelHandlerContext?
    private var action: (() -> Void)?

    /// Makes a bell for ``LoopExecutor/bell``, which works as long as the returned channel is open.
    ///
    /// - Throws: the system's error if no descriptors are left.
    static func install(on eventLoop: any EventLoop, for executor: LoopExecutor) async throws -> any Channel {
        var ends: [CInt] = [-1, -1]
        guard pipe(&ends) == 0 else { throw IOError(errnoCode: errno, reason: "pipe") }
        // A process that this one starts must not hold it.
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
        runAction(context.eventLoop)
    }

    /// Runs an action when the loop has polled its sockets. There is one action at a time.
    ///
    /// - Returns: `false` if the pipe is closed. Then the action is not run.
    func ring(_ action: @escaping () -> Void) -> Bool {
        guard let context, context.channel.isActive else { return false }
        self.action = action
        context.writeAndFlush(wrapOutboundOut(byte), promise: nil)
        return true
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // Behind the other sockets of this poll.
        runAction(context.eventLoop)
    }

    private func runAction(_ eventLoop: any EventLoop) {
        guard let action = action.take() else { return }
        eventLoop.assumeIsolated().execute(action)
    }
}
