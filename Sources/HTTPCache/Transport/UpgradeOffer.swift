package import NIOCore
import Synchronization

/// A request's offer to switch to another protocol on its own connection to the origin, and that
/// connection if the origin agrees. RFC 9110 §7.8
///
/// The engine passes the offer from the request to the transport without knowing the protocol. If
/// no caller takes the connection, it is closed.
package final class UpgradeOffer: Sendable {
    private enum State {
        case waiting
        /// The origin has switched. No more data is read from it until the connection is taken.
        case switched(any Channel)
        /// The connection was taken or is no longer wanted.
        case over
    }

    /// The name of the protocol, in lower case.
    package let protocolName: String
    /// The event loop that serves the connection.
    package let eventLoop: any EventLoop
    private let state = Mutex(State.waiting)

    package init(_ protocolName: String, on eventLoop: any EventLoop) {
        self.protocolName = protocolName
        self.eventLoop = eventLoop
    }

    deinit { discard() }

    /// Passes on a connection that the origin has switched to the protocol.
    package func complete(with channel: any Channel) {
        let isWanted = state.withLock { state in
            guard case .waiting = state else { return false }
            state = .switched(channel)
            return true
        }
        if !isWanted { channel.close(promise: nil) }
    }

    /// Takes the connection; returns `nil` if there is none.
    package func take() -> (any Channel)? {
        state.withLock { state in
            guard case .switched(let channel) = state else { return nil }
            state = .over
            return channel
        }
    }

    /// Records that the connection is no longer wanted. If it arrives later, it is closed.
    package func discard() {
        let channel = state.withLock { state -> (any Channel)? in
            defer { state = .over }
            if case .switched(let channel) = state { return channel }
            return nil
        }
        channel?.close(promise: nil)
    }
}
