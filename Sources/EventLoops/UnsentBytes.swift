import LibC
package import NIOCore

/// Limits how much of a response the kernel buffers before the client has room for it.
package enum UnsentBytes {
    /// The maximum number of unsent bytes of one connection.
    ///
    /// Otherwise the kernel's socket buffer grows to several megabytes for a client that does not
    /// read. With thousands of such clients, copying into their buffers kept the event loops busy
    /// for seconds. Bytes in flight to a client do not count, so fast connections stay fast.
    static let limit = 128 << 10

    /// Limits unsent bytes on a client's connection. Unix sockets have no such limit.
    package static func limit(on channel: any Channel) {
        guard channel.remoteAddress?.ipAddress != nil else { return }
        // Fails only if the client has already closed the connection.
        try? channel.syncOptions?.setOption(
            .tcpOption(NIOBSDSocket.Option(rawValue: TCP_NOTSENT_LOWAT)),
            value: limit
        )
    }
}
