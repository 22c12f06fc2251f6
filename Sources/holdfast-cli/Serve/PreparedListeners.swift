import HoldfastGateway
import Synchronization

/// The sockets that a gateway has taken over, until it starts to listen. After that, only the
/// gateway may keep them open, or clients would wait for a gateway that has stopped.
final class PreparedListeners: Sendable {
    private let listeners: Mutex<[PreparedListener?]>

    init(_ listeners: [PreparedListener?]) { self.listeners = Mutex(listeners) }

    func take() -> [PreparedListener?] {
        listeners.withLock { listeners in
            defer { listeners = [] }
            return listeners
        }
    }
}
