import Foundation
import TestSupport

/// A port of 127.0.0.1 to which no connection comes about, and none is refused: its queue is full,
/// and no program accepts. A server whose machine is gone looks like that.
final class DeafListener: Sendable {
    private let descriptors: [CInt]
    let port: Int

    init() throws {
        let (listener, port) = try LoopbackSocket.listening(backlog: 0)
        self.port = port
        // The queue takes one or two; the others wait forever.
        descriptors = [listener] + (0..<4).map { _ in LoopbackSocket.connecting(to: port) }
    }

    deinit { for descriptor in descriptors { close(descriptor) } }
}
