import Foundation
import TestSupport
import Testing

/// A TCP connection, closed when it is released.
final class LoopbackConnection {
    private let descriptor: Int32

    init(port: Int) throws {
        descriptor = try #require(LoopbackSocket.connected(to: port))
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
