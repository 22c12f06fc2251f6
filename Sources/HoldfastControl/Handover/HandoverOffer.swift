/// The listeners that a process hands over, without their sockets.
package struct HandoverOffer: Sendable, Hashable {
    /// One listener.
    package struct Listener: Sendable, Hashable {
        /// The address as the configuration names it.
        package var configured: String
        /// The address where clients connect.
        package var address: String
        /// The number of its sockets.
        package var socketCount: UInt16
        /// Whether the lock on the path of a Unix socket follows the sockets.
        package var hasLock: Bool

        package init(configured: String, address: String, socketCount: UInt16, hasLock: Bool) {
            self.configured = configured
            self.address = address
            self.socketCount = socketCount
            self.hasLock = hasLock
        }
    }

    package var listeners: [Listener]
    /// The addresses of the control plane, which the process frees when it ends.
    package var freed: [String]
    /// The time that running requests get to finish, in milliseconds.
    package var drainMilliseconds: UInt32

    package init(listeners: [Listener], freed: [String], drainMilliseconds: UInt32) {
        self.listeners = listeners
        self.freed = freed
        self.drainMilliseconds = drainMilliseconds
    }

    /// The number of descriptors that belong to the offer.
    package var descriptorCount: Int {
        listeners.reduce(0) { $0 + Int(clamping: $1.socketCount) + ($1.hasLock ? 1 : 0) }
    }

    /// The maximum time from "ready" until the old process has released the store.
    package var limit: Duration { .milliseconds(Int64(clamping: drainMilliseconds)) + HandoverLimits.ending }
}
