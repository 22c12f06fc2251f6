import HTTPWire
import Logging
import NIOCore
import Synchronization

/// Logs a warning for rejected connections, at most once a second, because anyone who can reach the
/// listener can cause them.
final class ProxyRefusalLog: Sendable {
    private static let silence = TimeAmount.seconds(1)

    private let logger: Logger
    private let next = Mutex(NIODeadline.uptimeNanoseconds(0))

    init(_ logger: Logger) { self.logger = logger }

    func warn(of refusal: ProxyRefusal, _ peer: String?) {
        let now = NIODeadline.now()
        let isDue = next.withLock { next in
            guard now >= next else { return false }
            next = now + Self.silence
            return true
        }
        guard isDue else { return }
        logger.warning(
            "Closed a connection without a valid PROXY protocol header",
            metadata: ["proxy.reason": "\(refusal.rawValue)", "network.peer.address": "\(peer ?? "unknown")"]
        )
    }
}
