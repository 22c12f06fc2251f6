import Foundation

/// A client's connection to a gateway that restarts. Its calls block, so call them on a thread of
/// their own.
final class RestartConnection: Sendable {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private let descriptor: Int32

    init(port: Int) throws {
        #if canImport(Darwin)
            let kind = SOCK_STREAM
        #else
            let kind = Int32(SOCK_STREAM.rawValue)
        #endif
        descriptor = socket(AF_INET, kind, 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
        let code = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0 ? 0 : errno
            }
        }
        guard code == 0 else { throw Failure(description: "not connected: \(code)") }
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
