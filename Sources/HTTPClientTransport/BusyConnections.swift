import AsyncHTTPClient
import HTTPCache
import NIOHTTP1
import Synchronization

/// The exchanges that have a connection, by origin: so that a request for which every connection
/// was in use is told from one for which no connection could be made.
final class BusyConnections: Sendable {
    private struct Origin {
        var count = 0
        /// Whether each exchange has a connection to itself; `nil` before that is known.
        var isHTTP1: Bool?
    }

    private let limit: Int
    private let origins = Mutex<[String: Origin]>([:])

    /// - Parameter limit: connections to one origin over HTTP/1.1.
    init(limit: Int) { self.limit = limit }

    /// An exchange has a connection, or a part of one.
    func begin(_ origin: String) {
        origins.withLock { origins in
            // Without TLS no other protocol is negotiated.
            let unknown = Origin(isHTTP1: origin.hasPrefix("http:") ? true : nil)
            origins[origin, default: unknown].count += 1
        }
    }

    /// An exchange's response tells the protocol.
    func answered(_ origin: String, _ version: HTTPVersion) {
        origins.withLock { $0[origin]?.isHTTP1 = version.major < 2 }
    }

    /// An exchange that had a connection has ended.
    func end(_ origin: String) {
        origins.withLock { origins in
            guard let count = origins[origin]?.count, count > 1 else { return origins[origin] = nil }
            origins[origin]?.count = count - 1
        }
    }

    /// Whether one more request waits for a connection.
    func areAllBusy(_ origin: String) -> Bool {
        guard let known = origins.withLock({ $0[origin] }) else { return false }
        return known.isHTTP1 != false && known.count >= limit
    }

    /// Whether a request that was not sent ended for want of a free connection, or of a free
    /// stream.
    func isLack(_ error: any Error, at origin: String) -> Bool {
        let known = origins.withLock { $0[origin] }
        switch error as? HTTPClientError {
        case .getConnectionFromPoolTimeout?:
            // Over HTTP/1.1 and below the limit a connection was tried, and the client's timer was
            // only earlier than the connection's: the origin took too long.
            return !(known.map { $0.isHTTP1 == true && $0.count < limit } ?? false)
        // The client tells of an earlier failure where it has one.
        case .connectTimeout?, .cancelled?: break
        default: guard error is CancellationError else { return false }
        }
        guard let known else { return false }
        return known.isHTTP1 == false || known.count >= limit
    }
}

extension TransportError {
    /// Every connection was in use, and none became free in time.
    static func overloaded(_ origin: String, _ cause: any Error) -> TransportError {
        TransportError(
            code: .overloaded,
            message: "Every connection to '\(origin)' was in use, and none became free in time. "
                + "Nothing was sent. Try again later, or raise 'connectionsPerOrigin'.",
            cause: cause
        )
    }
}
