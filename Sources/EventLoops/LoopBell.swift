import LibC
import NIOCore
import NIOPosix

/// Makes an event loop poll its sockets before it runs an action.
///
/// A loop runs all due work before it polls, and a timer would add a delay. So the bell sends a
/// byte through a pipe. The loop reads the byte when it polls, together with everything else that
/// has arrived.
final class LoopBell: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let byte = ByteBuffer(bytes: [0])
    private var context: ChannelHandlerContext?
    private var action: (() -> Void)?

    /// Creates a bell for ``LoopExecutor/bell``. It works while the returned channel is open.
    ///
    /// - Throws: the system's error if no descriptors are left.
    static func install(on eventLoop: any EventLoop, for executor: LoopExecutor) async throws -> any Channel {
        var ends: [CInt] = [-1, -1]
        guard pipe(&ends) == 0 else { throw IOError(errnoCode: errno, reason: "pipe") }
        // Child processes must not inherit the pipe.
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

    /// Runs an action after the loop has polled its sockets. Only one action can be pending.
    ///
    /// - Returns: `false` if the pipe is closed. Then the action does not run.
    func ring(_ action: @escaping () -> Void) -> Bool {
        guard let context, context.channel.isActive else { return false }
        self.action = action
        context.writeAndFlush(wrapOutboundOut(byte), promise: nil)
        return true
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // Runs after the other sockets of this poll are served.
        runAction(context.eventLoop)
    }

    private func runAction(_ eventLoop: any EventLoop) {
        guard let action = action.take() else { return }
        eventLoop.assumeIsolated().execute(action)
    }
}
