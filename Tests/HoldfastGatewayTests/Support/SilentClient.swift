import Foundation
import TestSupport

/// A connection that reads nothing, and stays when the peer closes its side. It ends when this is
/// released.
final class SilentClient: Sendable {
    private let descriptor: CInt

    /// - Parameter text: what is sent.
    init(port: Int, sending text: String) throws {
        guard let descriptor = LoopbackSocket.connected(to: port) else { throw TestFailure("connect: \(errno)") }
        self.descriptor = descriptor
        _ = Array(text.utf8).withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
    }

    deinit { close(descriptor) }
}
