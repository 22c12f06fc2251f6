import EventLoops
import LibC
import NIOCore

/// Checks the pending input and the unsent output of a connection's socket, with one system call
/// each. It consumes no bytes. Used only on the connection's event loop.
struct SocketPeek {
    /// The state of a socket's input.
    enum Input: Hashable {
        case nothing
        case bytes
        /// The peer has closed the connection, or the socket has failed.
        case ended
    }

    /// The socket; `nil` if the channel has none.
    private var socket: (any NIOTransportAccessibleChannelCore<NIOBSDSocket.Handle>)?
    private var channel: (any Channel)?

    mutating func open(_ channel: any Channel) {
        socket = channel.socket
        self.channel = channel
    }

    /// Releases the socket.
    mutating func release() {
        socket = nil
        channel = nil
    }

    /// Returns the number of bytes written to the channel that the peer's kernel has not
    /// acknowledged, as far as the local kernel reports it.
    func untakenCount() -> Int {
        let buffered = channel?.untaken ?? 0
        guard let socket else { return buffered }
        let unsent = try? socket.withUnsafeTransport { handle -> Int in
            var count: Int32 = 0
            #if canImport(Darwin)
                var length = socklen_t(MemoryLayout<Int32>.size)
                return getsockopt(handle, SOL_SOCKET, SO_NWRITE, &count, &length) == 0 ? Int(count) : 0
            #else
                return ioctl(handle, UInt(TIOCOUTQ), &count) == 0 ? Int(count) : 0
            #endif
        }
        return buffered + (unsent ?? 0)
    }

    func peek() -> Input {
        // A channel without a socket notices these states on its next read.
        guard let socket else { return .nothing }
        let input = try? socket.withUnsafeTransport { handle -> Input in
            var byte: UInt8 = 0
            let count = recv(handle, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
            if count > 0 { return .bytes }
            return count < 0 && [EAGAIN, EWOULDBLOCK, EINTR].contains(errno) ? .nothing : .ended
        }
        return input ?? .ended
    }
}
