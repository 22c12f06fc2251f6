import Foundation
import HoldfastTesting
import NIOCore
import RedisTier
import Synchronization

/// A server on a real socket that does as a script says, on a thread for each connection. A
/// connection is closed when its script ends.
final class ScriptedPeer: Sendable {
    typealias Script = @Sendable (PeerConnection) throws -> Void

    let endpoint: RedisEndpoint
    private let listener: Int32
    /// Keeps its port when it has stopped; `nil` for a Unix socket.
    private let held: HeldPort?
    private let accepted = Mutex(0)

    /// - Parameter path: of a Unix socket; `nil`: a free port of 127.0.0.1.
    init(unix path: String? = nil, _ script: @escaping Script) throws {
        listener = socket(path == nil ? AF_INET : AF_UNIX, streamKind, 0)
        guard listener >= 0 else { throw PeerError.system(errno) }
        if let path {
            try Self.bind(listener, toUnix: path)
            endpoint = .unix(path: path)
            held = nil
        } else {
            let held = try HeldPort()
            try Self.bind(listener, beside: held)
            endpoint = .tcp(host: "127.0.0.1", port: held.port)
            self.held = held
        }
        guard listen(listener, 64) == 0 else { throw PeerError.system(errno) }
        Thread.detachNewThread { [listener] in
            while true {
                let descriptor = accept(listener, nil, nil)
                guard descriptor >= 0 else { return }
                Thread.detachNewThread {
                    try? script(PeerConnection(descriptor))
                    close(descriptor)
                }
            }
        }
    }

    deinit { stop() }

    /// Refuses connections from now on.
    func stop() { shutdown(listener, Int32(SHUT_RDWR)) }

    /// A port that was free a moment ago. For a connection that is refused, hold a ``HeldPort``.
    static func freePort() throws -> Int { try HeldPort().port }

    private static func bind(_ descriptor: Int32, beside held: HeldPort) throws {
        var yes: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(held.port).bigEndian
        inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
        let length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { Foundation.bind(descriptor, $0, length) == 0 }
        }
        guard isBound else { throw PeerError.system(errno) }
    }

    private static func bind(_ descriptor: Int32, toUnix path: String) throws {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { room in
            for (index, byte) in path.utf8.prefix(room.count - 1).enumerated() { room[index] = byte }
        }
        let length = socklen_t(MemoryLayout<sockaddr_un>.size)
        let isBound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { Foundation.bind(descriptor, $0, length) == 0 }
        }
        guard isBound else { throw PeerError.system(errno) }
    }
}

enum PeerError: Error {
    case system(Int32)
    case closed
    case notACommand
    case rejected(String)
}

#if canImport(Darwin)
    private let streamKind = SOCK_STREAM
    private let sendFlags: Int32 = 0
#else
    private let streamKind = Int32(SOCK_STREAM.rawValue)
    private let sendFlags = Int32(MSG_NOSIGNAL)
#endif

/// The peer's side of one connection. One thread uses it.
final class PeerConnection {
    private let descriptor: Int32
    private var parser = RESPParser()

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    /// The next command with its arguments.
    func command() throws -> [String] {
        while true {
            if let message = try parser.next() {
                guard case .reply(.array(let words)) = message else { throw PeerError.notACommand }
                return words.map { $0.text ?? "" }
            }
            var piece = [UInt8](repeating: 0, count: 65_536)
            let count = recv(descriptor, &piece, piece.count, 0)
            guard count > 0 || count < 0 && errno == EINTR else { throw PeerError.closed }
            if count > 0 { parser.append(ByteBuffer(bytes: piece[..<count])) }
        }
    }

    /// Writes bytes as they stand.
    func write(_ text: String) throws {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, sendFlags) }
            guard count > 0 || count < 0 && errno == EINTR else { throw PeerError.closed }
            if count > 0 { rest = rest.dropFirst(count) }
        }
    }

    /// Replies to `HELLO`, as Redis 7 does.
    func greet() throws {
        _ = try command()
        try write("%3\r\n$7\r\nversion\r\n$6\r\n7.0.15\r\n$5\r\nproto\r\n:3\r\n$4\r\nrole\r\n$6\r\nmaster\r\n")
    }

    /// Reads until the other side closes.
    func waitForClose() throws {
        while true { _ = try command() }
    }
}
