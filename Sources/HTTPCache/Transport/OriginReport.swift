import Synchronization

/// How an origin responded to a request, for a log. A transport that knows it notes it; the caller
/// whose request it is reads it when its exchange is over.
///
/// A class, because it passes through several functions and is set on another thread.
package final class OriginReport: Sendable {
    /// The facts about one request to an origin.
    package struct Facts: Sendable, Hashable {
        /// `nil` if no head came.
        package var status: Int?
        /// From the start, connecting included, to the response's head or the failure.
        package var duration: Duration
        /// Whether the connection was kept from an earlier request; `nil` if no head came.
        package var isReused: Bool?

        /// The server that was asked, if the origin has settings of its own.
        package var server: String?

        package init(status: Int?, duration: Duration, isReused: Bool?, server: String? = nil) {
            self.status = status
            self.duration = duration
            self.isReused = isReused
            self.server = server
        }
    }

    private let noted = Mutex<Facts?>(nil)

    package init() {}

    /// The facts about the last request that has got a head or has failed; `nil` if none has.
    package var facts: Facts? { noted.withLock { $0 } }

    /// Replaces the facts about an earlier request.
    package func note(_ facts: Facts) { noted.withLock { $0 = facts } }
}
