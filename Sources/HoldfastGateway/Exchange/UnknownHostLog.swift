import HTTPCacheSemantics
import HTTPWire
import Logging
import Synchronization

/// Logs the host of a request that no route and no forward proxy has, at most once a minute, as any
/// client can request any host. The response does not repeat the host.
final class UnknownHostLog: Sendable {
    /// In milliseconds.
    private static let silence: Int64 = 60_000

    private let logger: Logger
    private let last = Mutex<Timestamp?>(nil)

    init(_ logger: Logger) { self.logger = logger }

    /// - Parameter isForwarded: whether the request is for the forward proxy.
    func note(_ host: RequestedHost?, isForwarded: Bool = false, at now: Timestamp) {
        let isDue = last.withLock { last in
            // After the clock was set back, the next request is logged.
            if let last, (0..<Self.silence).contains(now.milliseconds(since: last)) { return false }
            last = now
            return true
        }
        guard isDue else { return }
        logger.notice(
            isForwarded
                ? "A client requested a host through the forward proxy that 'forward-proxy.hosts' does not list"
                : "A client requested a host that no route has; add a route with this 'host', or leave 'host' out of a route",
            metadata: ["http.host": "\(host?.description ?? "")"]
        )
    }
}
