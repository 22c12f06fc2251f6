import AsyncHTTPClient
import HTTPCache
import NIOHTTP1
import Synchronization

/// Tracks the exchanges that have a connection, by origin.
///
/// This distinguishes a request for which every connection was in use from a request that could not
/// connect.
final class BusyConnections: Sendable {
    private struct Origin {
        var count = 0
        /// Whether each exchange has its own connection; `nil` if unknown.
        var isHTTP1: Bool?
    }

    private let limit: Int
    private let origins = Mutex<[String: Origin]>([:])

    /// - Parameter limit: the maximum number of HTTP/1.1 connections to one origin.
    init(limit: Int) { self.limit = limit }

    /// Records that an exchange has a connection or a stream.
    func begin(_ origin: String) {
        origins.withLock { origins in
            // Without TLS, no other protocol is negotiated.
            let unknown = Origin(isHTTP1: origin.hasPrefix("http:") ? true : nil)
            origins[origin, default: unknown].count += 1
        }
    }

    /// Records the protocol of an exchange's response.
    func recordProtocol(of origin: String, _ version: HTTPVersion) {
        origins.withLock { $0[origin]?.isHTTP1 = version.major < 2 }
    }

    /// Records that an exchange with a connection has ended.
    func end(_ origin: String) {
        origins.withLock { origins in
            guard let count = origins[origin]?.count, count > 1 else { return origins[origin] = nil }
            origins[origin]?.count = count - 1
        }
    }

    /// Returns whether another request would wait for a connection.
    func areAllBusy(_ origin: String) -> Bool {
        guard let known = origins.withLock({ $0[origin] }) else { return false }
        return known.isHTTP1 != false && known.count >= limit
    }

    /// Returns whether an unsent request failed because no connection or stream was free.
    func isShortage(_ error: any Error, at origin: String) -> Bool {
        let known = origins.withLock { $0[origin] }
        switch error as? HTTPClientError {
        case .getConnectionFromPoolTimeout?:
            // With HTTP/1.1 and below the limit, the client tried to open a new connection. Its
            // pool timer expired before its connect timer, so the origin took too long.
            return !(known.map { $0.isHTTP1 == true && $0.count < limit } ?? false)
        // The client reports an earlier failure if there was one.
        case .connectTimeout?, .cancelled?: break
        default: guard error is CancellationError else { return false }
        }
        guard let known else { return false }
        return known.isHTTP1 == false || known.count >= limit
    }
}

extension TransportError {
    /// Returns the error for a request for which no connection became free in time.
    static func overloaded(_ origin: String, _ cause: any Error) -> TransportError {
        TransportError(
            code: .overloaded,
            message: "Every connection to '\(origin)' was in use, and none became free in time. "
                + "Nothing was sent. Try again later, or raise 'connectionsPerOrigin'.",
            cause: cause
        )
    }
}
