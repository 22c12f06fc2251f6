import Foundation

/// The socket on which a service manager receives the notices of its services.
package final class NotifySocket: Sendable {
    package let path: String
    private let descriptor: Int32

    package init() throws {
        path = "/tmp/holdfast-\(UUID().uuidString.prefix(8))"
        #if canImport(Darwin)
            let kind = SOCK_DGRAM
        #else
            let kind = Int32(SOCK_DGRAM.rawValue)
        #endif
        descriptor = socket(AF_UNIX, kind, 0)
        guard descriptor >= 0 else { throw TestFailure("socket: \(errno)") }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let isBound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        guard isBound else { throw TestFailure("bind \(path): \(errno)") }
    }

    deinit {
        close(descriptor)
        unlink(path)
    }

    /// The next datagram.
    package func next() async -> String {
        let descriptor = descriptor
        return await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                var bytes = [UInt8](repeating: 0, count: 4096)
                let count = recv(descriptor, &bytes, bytes.count, 0)
                continuation.resume(returning: String(decoding: bytes.prefix(max(0, count)), as: UTF8.self))
            }
        }
    }

    /// The datagrams that have come.
    package func received() -> [String] {
        var result: [String] = []
        var bytes = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = recv(descriptor, &bytes, bytes.count, CInt(MSG_DONTWAIT))
            guard count >= 0 else { return result }
            result.append(String(decoding: bytes.prefix(count), as: UTF8.self))
        }
    }

    /// The next datagram about the state of the process. Signs of life and sentences are skipped.
    package func nextState() async -> String {
        while true {
            let text = await next()
            if !text.hasPrefix("WATCHDOG="), !text.hasPrefix("STATUS=") { return text }
        }
    }

    /// Waits for a datagram; skips those before it.
    package func wait(for text: String) async {
        while await next() != text {}
    }
}
