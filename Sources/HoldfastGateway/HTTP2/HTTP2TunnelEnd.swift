import NIOCore

/// The client's side of a tunnel on an HTTP/2 stream. RFC 8441 §5
///
/// The client's window opens when the origin has accepted the bytes, so a tunnel buffers at most
/// one window.
final class HTTP2TunnelEnd: TunnelEnd {
    private let eventLoop: any EventLoop
    /// `nil` when the tunnel is over.
    private var stream: HTTP2Stream?
    private var tunnel: Tunnel?
    /// Held while the stream exists.
    private let permit: SharedPermits.Permit
    /// Bytes that were forwarded, and for which the client's window has not opened yet.
    private var owed: Int
    private(set) var hasRoom = true

    /// - Parameter owed: the number of bytes that arrived before the tunnel started.
    init(
        _ stream: HTTP2Stream,
        of tunnel: Tunnel,
        _ permit: SharedPermits.Permit,
        owed: Int,
        on eventLoop: any EventLoop
    ) {
        self.stream = stream
        self.tunnel = tunnel
        self.permit = permit
        self.owed = owed
        self.eventLoop = eventLoop
    }

    var untaken: Int { stream?.queuedCount ?? 0 }

    // MARK: Events of the stream

    func receive(_ bytes: UnsafeBufferPointer<UInt8>) {
        owed += bytes.count
        guard let tunnel else { return read() }
        tunnel.receive(ByteBuffer(bytes: bytes), from: .client)
    }

    func closeInput() { tunnel?.closeInput(of: .client) }

    func drain() { tunnel?.drain() }

    /// Handles the end of the stream.
    ///
    /// - Parameter isDraining: whether its connection was closed because the gateway shuts down.
    func lose(isDraining: Bool) {
        stream = nil
        let tunnel = tunnel.take()
        if isDraining { tunnel?.endFromOutside() } else { tunnel?.lose(.client, hasFailed: true) }
    }

    // MARK: The tunnel

    func pass(_ bytes: ByteBuffer) {
        guard let room = stream?.write(bytes) else { return }
        hasRoom = false
        room.assumeIsolated().whenSuccess { _ in
            // Runs later, because the connection is in the middle of sending.
            self.eventLoop.assumeIsolated().execute {
                self.hasRoom = true
                self.tunnel?.makeRoom(at: .client)
            }
        }
    }

    func read() {
        let count = owed
        owed = 0
        if count > 0 { stream?.consume(count) }
    }

    func closeSending() { stream?.finish(nil) }

    func close(isInOrder: Bool) {
        tunnel = nil
        // Bytes that still arrive from the client are dropped.
        read()
        let stream = stream
        if isInOrder { stream?.finish(nil) } else { stream?.cancel() }
    }
}
