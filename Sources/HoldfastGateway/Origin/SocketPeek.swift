import NIOCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Looks what a connection's socket has to be read and to be sent, with one system call each, and
/// takes nothing of it. Used on the connection's event loop alone.
struct SocketPeek {
    /// What a socket has to be read.
    enum Sight: Hashable {
        case nothing
        case bytes
        /// The other side has closed it, or it failed.
        case ended
    }

    /// `nil` where the channel has no socket.
    private var socket: (any NIOTransportAccessibleChannelCore<NIOBSDSocket.Handle>)?

    mutating func open(_ channel: any Channel) {
        // The channel's core, and not its descriptor: it knows when that is closed, and another's.
        socket = channel._channelCore as? any NIOTransportAccessibleChannelCore<NIOBSDSocket.Handle>
    }

    /// Lets go of the socket.
    mutating func release() { socket = nil }

    /// Bytes that were written to the socket and that the other side's system has not confirmed. 0
    /// where the system does not tell.
    func unsentCount() -> Int {
        guard let socket else { return 0 }
        let count = try? socket.withUnsafeTransport { handle -> Int in
            var count: Int32 = 0
            #if canImport(Darwin)
                var length = socklen_t(MemoryLayout<Int32>.size)
                return getsockopt(handle, SOL_SOCKET, SO_NWRITE, &count, &length) == 0 ? Int(count) : 0
            #else
                return ioctl(handle, UInt(TIOCOUTQ), &count) == 0 ? Int(count) : 0
            #endif
        }
        return count ?? 0
    }

    func look() -> Sight {
        // A channel without a socket is looked at by what it reads.
        guard let socket else { return .nothing }
        let sight = try? socket.withUnsafeTransport { handle -> Sight in
            var byte: UInt8 = 0
            let count = recv(handle, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
            if count > 0 { return .bytes }
            return count < 0 && [EAGAIN, EWOULDBLOCK, EINTR].contains(errno) ? .nothing : .ended
        }
        return sight ?? .ended
    }
}
