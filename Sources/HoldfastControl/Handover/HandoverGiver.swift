/// Decides what a gateway does when another process wants to replace it.
///
/// The gateway accepts connections until the other process is ready. It then stops accepting, and
/// finishes the requests that it has. If the other process ends before that, the gateway accepts
/// again. When the last request has finished, there is no way back: the gateway ends, and releases
/// the store.
///
/// ```swift
/// var giver = HandoverGiver(user: 1000)
/// giver.receive(.connected(1, user: 1000))  // []
/// giver.receive(.message(1, .hello))        // [.offer(1)]
/// giver.receive(.message(1, .ready))        // [.drain(1)]
/// giver.receive(.drained(1))                // [.end(1)]
/// giver.receive(.hasEnded)                  // [.tellReleased(1)]
/// ```
package struct HandoverGiver: Sendable {
    /// The number of a connection.
    package typealias Connection = Int

    package enum Event: Sendable, Hashable {
        /// A process has connected. The user is `nil` if the kernel does not know.
        case connected(Connection, user: UInt32?)
        case message(Connection, HandoverMessage)
        /// The process has sent something else, for this reason.
        case invalid(Connection, String)
        /// The process has closed the connection, or has ended.
        case closed(Connection)
        /// The process has not sent the next message in time.
        case timedOut(Connection)
        /// The listeners cannot be offered, for this reason.
        case cannotOffer(Connection, String)
        /// The gateway has stopped accepting for this connection, and all requests have finished.
        case drained(Connection)
        /// The gateway ends for another reason, such as a signal.
        case isEnding
        /// The gateway has released the store.
        case hasEnded
    }

    package enum Action: Sendable, Hashable {
        /// Send this reason, and close the connection.
        case refuse(Connection, String)
        /// Send the listeners and their sockets. Wait for "ready".
        case offer(Connection)
        /// Stop accepting and finish the requests, then report ``Event/drained(_:)``.
        case drain(Connection)
        /// Accept connections again, because the other process has not started, for this reason.
        case resume(String)
        /// Leave the listeners to the other process, and end.
        case end(Connection)
        /// Send that the store is released.
        case tellReleased(Connection)
        /// Log that the other process ended when there was no way back.
        case reportLoss
    }

    private enum State: Sendable {
        case serving
        case offering(Connection)
        case draining(Connection)
        /// There is no way back. `nil` if the gateway ends without a handover, or if the other
        /// process has ended.
        case ending(Connection?)
    }

    private static let stopping = "This gateway is stopping. Start the new one when it has ended."

    private let user: UInt32
    private var state = State.serving
    private var connections: Set<Connection> = []

    /// - Parameter user: the ID of the user who runs the gateway. No other user may take over.
    package init(user: UInt32) { self.user = user }

    package mutating func receive(_ event: Event) -> [Action] {
        switch event {
        case .connected(let connection, let user): return connect(connection, user)
        case .message(let connection, let message):
            guard connections.contains(connection) else { return [] }
            return receive(message, connection)
        case .invalid(let connection, let reason), .cannotOffer(let connection, let reason):
            guard connections.contains(connection) else { return [] }
            return refuse(connection, reason)
        case .timedOut(let connection): return timeOut(connection)
        case .closed(let connection):
            guard connections.remove(connection) != nil else { return [] }
            return lose(connection, "The new process ended before it could start.")
        case .drained(let connection):
            guard case .draining(connection) = state else { return [] }
            state = .ending(connection)
            return [.end(connection)]
        case .isEnding: return beginEnd()
        case .hasEnded:
            guard case .ending(let connection?) = state else { return [] }
            return [.tellReleased(connection)]
        }
    }

    private mutating func connect(_ connection: Connection, _ user: UInt32?) -> [Action] {
        guard user == self.user else {
            let name = user.map { "User \($0)" } ?? "An unknown user"
            return [.refuse(connection, "\(name) may not replace this gateway, which user \(self.user) runs.")]
        }
        guard connections.count < HandoverLimits.connections else {
            let limit = HandoverLimits.connections
            return [.refuse(connection, "There are already \(limit) connections, which is the limit. Try again later.")]
        }
        connections.insert(connection)
        return []
    }

    private mutating func receive(_ message: HandoverMessage, _ connection: Connection) -> [Action] {
        switch (message, state) {
        case (.hello, .serving):
            state = .offering(connection)
            return [.offer(connection)]
        case (.hello, .offering(let other)) where other != connection,
            (.hello, .draining(let other)) where other != connection:
            return refuse(connection, "Another process is already taking over this gateway. Wait until it has started.")
        case (.hello, .ending): return refuse(connection, Self.stopping)
        case (.ready, .offering(connection)):
            state = .draining(connection)
            return [.drain(connection)]
        case (.failed(let reason), _):
            connections.remove(connection)
            return lose(connection, reason)
        default: return refuse(connection, "The message was not expected.")
        }
    }

    private mutating func refuse(_ connection: Connection, _ reason: String) -> [Action] {
        connections.remove(connection)
        return [.refuse(connection, reason)] + lose(connection, reason)
    }

    private mutating func timeOut(_ connection: Connection) -> [Action] {
        guard connections.contains(connection) else { return [] }
        switch state {
        // The gateway itself takes the time.
        case .draining(connection), .ending(connection): return []
        default: return refuse(connection, "The next message did not arrive in time.")
        }
    }

    /// Continues without a connection.
    private mutating func lose(_ connection: Connection, _ reason: String) -> [Action] {
        switch state {
        case .offering(connection), .draining(connection):
            state = .serving
            return [.resume(reason)]
        case .ending(connection):
            state = .ending(nil)
            return [.reportLoss]
        case .serving, .offering, .draining, .ending: return []
        }
    }

    private mutating func beginEnd() -> [Action] {
        switch state {
        case .serving:
            state = .ending(nil)
            return []
        case .offering(let connection):
            state = .ending(nil)
            connections.remove(connection)
            return [.refuse(connection, Self.stopping)]
        case .draining(let connection):
            // The other process is ready, so it may as well start.
            state = .ending(connection)
            return [.end(connection)]
        case .ending: return []
        }
    }
}
