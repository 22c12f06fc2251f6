import NIOCore

/// Reads the messages of a process that wants to replace this gateway.
final class HandoverHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let connection: HandoverGiver.Connection
    private let report: @Sendable (HandoverGiver.Event) -> Void
    private var bytes: ArraySlice<UInt8> = []
    private var count = 0
    private var isOver = false

    init(_ connection: HandoverGiver.Connection, report: @escaping @Sendable (HandoverGiver.Event) -> Void) {
        self.connection = connection
        self.report = report
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isOver else { return }
        bytes += Array(unwrapInboundIn(data).readableBytesView)
        do {
            while let message = try HandoverMessage.take(from: &bytes) {
                count += 1
                guard count <= HandoverLimits.messages else { return end("There are too many messages.") }
                report(.message(connection, message))
            }
        } catch {
            end("\(error)")
        }
    }

    /// Ignores all further bytes.
    private func end(_ reason: String) {
        isOver = true
        bytes = []
        report(.invalid(connection, reason))
    }

    func channelInactive(context: ChannelHandlerContext) {
        report(.closed(connection))
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}

extension Channel {
    /// Calls a function with the channel's socket. Call this on the channel's event loop.
    ///
    /// - Returns: `nil` if the channel has no socket any more.
    func withSocket<Result>(_ body: (CInt) -> Result) -> Result? {
        try? pipeline.syncOperations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) { body($0) }
    }
}
