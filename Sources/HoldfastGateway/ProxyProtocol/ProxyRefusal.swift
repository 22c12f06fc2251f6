import Logging
import NIOCore
import Synchronization

/// The reason why a connection to a PROXY protocol listener is closed: the label `reason` of
/// `holdfast_proxy_protocol_refusals_total`.
enum ProxyRefusal: String, Error, CaseIterable {
    /// The connection's peer is not in `clients.trusted`.
    case untrusted
    /// The connection's first bytes are not a header.
    case missing
    case malformed
    case tooLong = "too-long"
    /// The header's checksum does not match.
    case checksum
    /// The header did not arrive in time.
    case timeout
    /// The peer closed the connection before the end of the header.
    case closed

    var number: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}

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
