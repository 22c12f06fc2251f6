import Foundation
import Testing

/// A TCP connection, closed when it is released.
final class LoopbackConnection {
    private let descriptor: Int32

    init(port: Int) throws {
        descriptor = try #require(Self.connected(port: port))
    }

    /// Returns a socket that is connected to a port of this machine; `nil`, and `errno`, if that
    /// fails.
    static func connected(port: Int) -> Int32? {
        #if canImport(Darwin)
            let kind = SOCK_STREAM
        #else
            let kind = Int32(SOCK_STREAM.rawValue)
        #endif
        let descriptor = socket(AF_INET, kind, 0)
        guard descriptor >= 0 else { return nil }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        if isConnected { return descriptor }
        let code = errno
        close(descriptor)
        errno = code
        return nil
    }

    deinit {
        close(descriptor)
    }

    /// Whether the other side has neither sent anything nor closed it.
    var isOpen: Bool {
        var byte: UInt8 = 0
        return recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) == -1 && errno == EAGAIN
    }

    func send(_ text: String) {
        _ = Array(text.utf8).withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
    }

    /// Reads until the other side closes.
    func readToEnd() async -> String { await read { _ in false } }

    /// Reads until a text arrives, or the other side closes.
    func read(until text: String) async -> String { await read { $0.hasSuffix(text) } }

    func read(until isEnd: @escaping @Sendable (String) -> Bool) async -> String {
        let descriptor = descriptor
        return await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                var bytes: [UInt8] = []
                var piece = [UInt8](repeating: 0, count: 65_536)
                var text = ""
                while !isEnd(text) {
                    // The system's call: this type has a method of that name.
                    let count = recv(descriptor, &piece, piece.count, 0)
                    if count == -1, errno == EINTR { continue }
                    guard count > 0 else { break }
                    bytes += piece[..<count]
                    text = String(decoding: bytes, as: UTF8.self)
                }
                continuation.resume(returning: text)
            }
        }
    }
}
