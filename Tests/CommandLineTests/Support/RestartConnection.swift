import Foundation
import TestSupport

/// A client's connection to a gateway that restarts. Its calls block, so call them on a thread of
/// their own.
final class RestartConnection: Sendable {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private let descriptor: Int32

    init(port: Int) throws {
        guard let descriptor = LoopbackSocket.connected(to: port) else {
            throw Failure(description: "not connected: \(errno)")
        }
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    /// Sends a GET, and reads its response.
    ///
    /// - Parameter isLast: whether the connection ends with the response.
    /// - Returns: the response; `nil` if the connection was closed before any byte of it.
    /// - Throws: `Failure` for anything but a whole response with status 200.
    func get(isLast: Bool) throws -> String? {
        let end = isLast ? "Connection: close\r\n" : ""
        let request = Array("GET /a HTTP/1.1\r\nHost: gateway.test\r\n\(end)\r\n".utf8)
        #if canImport(Darwin)
            let flags: Int32 = 0
        #else
            let flags = Int32(MSG_NOSIGNAL)
        #endif
        guard send(descriptor, request, request.count, flags) == request.count else {
            if isClosed(errno), !isLast { return nil }
            throw Failure(description: "not sent: \(errno)")
        }
        var text = ""
        var piece = [UInt8](repeating: 0, count: 4096)
        while isLast || !text.hasSuffix("\r\n\r\nv1") {
            let count = recv(descriptor, &piece, piece.count, 0)
            if count == -1, errno == EINTR { continue }
            if count < 0, text.isEmpty, !isLast, isClosed(errno) { return nil }
            guard count >= 0 else { throw Failure(description: "not received: \(errno) after '\(text)'") }
            if count == 0 { break }
            text += String(decoding: piece[..<count], as: UTF8.self)
        }
        if text.isEmpty { return nil }
        guard text.hasPrefix("HTTP/1.1 200 "), text.hasSuffix("\r\n\r\nv1") else {
            throw Failure(description: "'\(text)'")
        }
        return text
    }

    private func isClosed(_ code: Int32) -> Bool { code == ECONNRESET || code == EPIPE }
}
