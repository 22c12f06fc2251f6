import Synchronization

/// An origin's response to a request, for a log. A transport that supports it records the facts,
/// and the caller of the request reads them when its exchange has ended.
///
/// A class, because it passes through several functions and is set on another thread.
package final class OriginReport: Sendable {
    /// The facts about a request to an origin.
    package struct Facts: Sendable, Hashable {
        /// The status; `nil` if no head arrived.
        package var status: Int?
        /// The time from the start, including connecting, to the response's head or the failure.
        package var duration: Duration
        /// Whether the connection was reused from an earlier request; `nil` if no head arrived.
        package var isReused: Bool?

        /// The server that received the request, if the origin has its own settings.
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

    /// The facts about the last request that received a head or failed; `nil` if there is none.
    package var facts: Facts? { noted.withLock { $0 } }

    /// Replaces the facts about an earlier request.
    package func note(_ facts: Facts) { noted.withLock { $0 = facts } }
}
