import Foundation
import TestSupport

/// A socket of 127.0.0.1 that listens, and that the test keeps as a service manager would: the
/// processes that inherit it come and go.
final class ListeningSocket: Sendable {
    let descriptor: Int32
    let port: Int

    init() throws {
        (descriptor, port) = try LoopbackSocket.listening(backlog: SOMAXCONN)
        _ = fcntl(descriptor, F_SETFD, 0)
    }

    deinit { close(descriptor) }
}
