package import LocalSockets

/// The Unix socket where a running gateway waits for the process that replaces it. It is in the
/// store's folder, which no other user may enter.
package enum HandoverSocket {
    /// The name of the socket file in a store's folder.
    package static let name = "handover.sock"

    /// Returns the socket of the gateway that uses a store.
    ///
    /// - Parameter store: the absolute path of the store's folder.
    package static func location(inStore store: String) -> SocketLocation {
        SocketLocation(
            path: store + (store.hasSuffix("/") ? "" : "/") + name,
            kind: "handover socket",
            setting: "'store.path' in the configuration file"
        )
    }
}

/// The reason that a process cannot take over from the running gateway.
package struct HandoverFailure: Error, Sendable, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}

/// A gateway that can hand over its listeners.
package protocol HandingOver: Sendable {
    /// The time that running requests get to finish.
    var drainTime: Duration { get }
    /// The addresses of the control plane, which are free when the gateway has ended.
    var freedAddresses: [String] { get }

    /// Returns the open listeners, with copies of their sockets.
    func listeners() async throws -> [PassedListener]
    /// Stops accepting connections. Returns when all connections have ended, or early if the task
    /// is canceled.
    func drain() async
    /// Accepts connections again.
    func resume() async
    /// Leaves the listeners to the other process, and starts to end. Does not wait for the end.
    func end()
}
