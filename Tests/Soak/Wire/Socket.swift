import Foundation

/// The reason why a socket receives nothing more.
enum SocketFailure: Error, Hashable {
    case closed
    case broken(String)
    case timedOut
}

/// A TCP connection on the loopback interface, used by one thread.
///
/// Blocking, without Nagle's algorithm: the bytes of one call are one segment, as long as the other
/// side reads.
final class Socket {
    let descriptor: Int32
    private(set) var received: [UInt8] = []
    /// The index of the first unread byte of `received`.
    private var start = 0
    private var piece = [UInt8](repeating: 0, count: 65_536)
    /// Seconds that one wait may last.
    var patience: Double

    init(descriptor: Int32, patience: Double) {
        self.descriptor = descriptor
        self.patience = patience
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        setOption(Int32(IPPROTO_TCP), TCP_NODELAY, 1)
    }

    /// Connects to a port of this machine.
    convenience init(port: Int, patience: Double, receiveBuffer: Int32? = nil) throws {
        let descriptor = socket(AF_INET, Self.stream, 0)
        guard descriptor >= 0 else { throw SocketFailure.broken("no socket: \(Self.reason)") }
        self.init(descriptor: descriptor, patience: patience)
        // Before it connects, or the window is as large as it was.
        if let receiveBuffer { setOption(SOL_SOCKET, SO_RCVBUF, receiveBuffer) }
        guard Self.withAddress(port: port, { connect(descriptor, $0, $1) }) == 0 else {
            throw SocketFailure.broken("cannot connect: \(Self.reason)")
        }
    }

    deinit { close(descriptor) }

    // MARK: Writing

    /// Writes with one call, so that the bytes are one segment if the other side reads them.
    func write(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { buffer in
                send(descriptor, buffer.baseAddress.map { $0 + sent }, bytes.count - sent, Self.quietly)
            }
            if count < 0 {
                if errno == EINTR { continue }
                throw SocketFailure.broken("cannot write: \(Self.reason)")
            }
            sent += count
        }
    }

    /// Closes the sending side.
    func closeOutput() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Resets the connection instead of closing it, once this is released.
    func resetAtEnd() {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }

    // MARK: Reading

    /// The number of received bytes that were not read.
    var available: Int { received.count - start }

    /// Receives the next bytes, at least one.
    func receive() throws {
        guard try wait(patience) else { throw SocketFailure.timedOut }
        let count = piece.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
        if count < 0 {
            if errno == EINTR { return try receive() }
            throw SocketFailure.broken("cannot read: \(Self.reason)")
        }
        guard count > 0 else { throw SocketFailure.closed }
        if start > 65_536 {
            received.removeFirst(start)
            start = 0
        }
        received += piece[..<count]
    }

    /// - Returns: whether there is something to read, or the end, within that time.
    func wait(_ seconds: Double) throws -> Bool {
        var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        let end = Clock.now() + seconds
        while true {
            let rest = max(0, end - Clock.now())
            let count = Foundation.poll(&poll, 1, Int32(rest * 1_000))
            if count > 0 { return true }
            if count < 0, errno != EINTR { throw SocketFailure.broken("cannot wait: \(Self.reason)") }
            if rest == 0 { return false }
        }
    }

    /// Waits for a line and returns it without its end.
    func line() throws -> String {
        var searched = start
        while true {
            if let end = received.lineFeed(from: searched) {
                let to = end > start && received[end - 1] == 13 ? end - 1 : end
                defer { start = end + 1 }
                return String(decoding: received[start..<to], as: UTF8.self)
            }
            let fresh = received.count - start
            guard fresh < 1 << 20 else { throw SocketFailure.broken("a line without an end") }
            try receive()
            searched = start + fresh
        }
    }

    /// Waits for this number of bytes and returns them.
    func bytes(_ count: Int) throws -> [UInt8] {
        while available < count { try receive() }
        defer { start += count }
        return Array(received[start..<(start + count)])
    }

    /// Returns the available bytes, at most this number.
    func some(_ count: Int) -> [UInt8] {
        let taken = min(count, available)
        defer { start += taken }
        return Array(received[start..<(start + taken)])
    }

    // MARK: The system

    static var reason: String { String(cString: strerror(errno)) }

    #if canImport(Darwin)
        static let stream = SOCK_STREAM
        static let quietly: Int32 = 0
    #else
        static let stream = Int32(SOCK_STREAM.rawValue)
        static let quietly = Int32(MSG_NOSIGNAL)
    #endif

    private func setOption(_ level: Int32, _ option: Int32, _ value: Int32) {
        var value = value
        setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    /// The address of a port of 127.0.0.1.
    static func withAddress(port: Int, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}

extension [UInt8] {
    fileprivate func lineFeed(from start: Int) -> Int? {
        guard start < count else { return nil }
        return withUnsafeBytes { buffer in
            guard let base = buffer.baseAddress, let found = memchr(base + start, 10, count - start) else { return nil }
            return UnsafeRawPointer(found) - base
        }
    }
}
