package import LibC

/// The user at the other end of a Unix socket.
package enum PeerUser {
    #if !canImport(Darwin)
        /// The layout of `struct ucred`, which system headers declare only with `_GNU_SOURCE`.
        /// unix(7)
        private struct Credentials {
            var process: pid_t = 0
            var user: uid_t = 0
            var group: gid_t = 0
        }
    #endif

    /// Returns the user who connected, as the kernel recorded it at that moment.
    ///
    /// - Parameter socket: the descriptor of a connection.
    /// - Returns: `nil` if the kernel does not know.
    package static func id(ofPeer socket: CInt) -> uid_t? {
        #if canImport(Darwin)
            var (user, group) = (uid_t.max, gid_t.max)
            return getpeereid(socket, &user, &group) == 0 ? user : nil
        #else
            var credentials = Credentials()
            var length = socklen_t(MemoryLayout<Credentials>.size)
            guard getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 else { return nil }
            return credentials.user
        #endif
    }
}
