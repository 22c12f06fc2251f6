package import NIOCore

/// A connection whose origin has switched to another protocol. Used on its event loop.
package struct SwitchedConnection {
    private let handler: OriginConnectionHandler
    private let pipeline: ChannelPipeline.SynchronousOperations

    /// - Returns: `nil` if the connection is closed. The pipeline of a closed channel has no
    ///   handlers.
    package init?(_ channel: any Channel) {
        pipeline = channel.pipeline.syncOperations
        guard let handler = try? pipeline.handler(type: OriginConnectionHandler.self), channel.isActive else {
            return nil
        }
        self.handler = handler
    }

    /// Hands the connection over to the other protocol's handler.
    ///
    /// - Returns: the bytes of the other protocol that have arrived, and whether no more will
    ///   arrive.
    package func hand(to next: some ChannelHandler) throws -> (bytes: ByteBuffer, isLast: Bool) {
        let rest = handler.takeSwitched()
        try pipeline.addHandler(next, position: .after(handler))
        pipeline.removeHandler(handler, promise: nil)
        return rest
    }
}
