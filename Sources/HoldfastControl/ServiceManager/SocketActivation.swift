package import HTTPCacheSemantics
import LibC

/// The sockets that a service manager passes to this process, as in systemd's `sd_listen_fds(3)`.
///
/// The manager creates the sockets and keeps them open. During a restart, connections therefore
/// wait instead of being refused.
package struct SocketActivation: Sendable, Hashable {
    /// A descriptor, and the manager's name for it.
    package struct Socket: Sendable, Hashable {
        package let descriptor: CInt
        /// The name: `FileDescriptorName=` of the socket unit, or the unit's name. It is empty if
        /// the manager sets no name.
        package let name: String
    }

    /// The number of the first descriptor.
    package static let firstDescriptor: CInt = 3
    /// The name that a socket for the control plane would have.
    private static let controlName = "control"
    private static let variables = ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"]

    /// The sockets, in the manager's order.
    package let sockets: [Socket]

    /// Reads `LISTEN_PID`, `LISTEN_FDS` and `LISTEN_FDNAMES`. An empty variable counts as unset.
    ///
    /// - Parameters:
    ///   - process: the ID of this process. Sockets for another process are ignored.
    ///   - limit: the maximum number of sockets.
    /// - Throws: `InvalidSetting`
    package init(environment: [String: String], process: Int32, limit: Int) throws(InvalidSetting) {
        func number(_ name: String, _ expected: String, _ range: ClosedRange<Int>) throws(InvalidSetting) -> Int? {
            guard let text = environment[name], !text.isEmpty else { return nil }
            guard text.utf8.allSatisfy(\.isDigit), let number = Int(text), range.contains(number)
            else {
                throw InvalidSetting(
                    "'\(name)' must be \(expected), not '\(ControlProblem.shown(text))'. "
                        + "Do not set the variable yourself; the service manager sets it."
                )
            }
            return number
        }
        // If LISTEN_PID is not set, or is another process's ID, the sockets are not for this
        // process.
        let owner = try number("LISTEN_PID", "a process ID", 1...Int(Int32.max))
        let count = try number("LISTEN_FDS", "a number of sockets from 0 to \(limit)", 0...limit)
        guard owner == Int(process), let count, count > 0 else {
            sockets = []
            return
        }
        var names: [String] = []
        if let text = environment["LISTEN_FDNAMES"], !text.isEmpty {
            names = text.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
            guard names.count == count else {
                throw InvalidSetting(
                    "'LISTEN_FDNAMES' has \(names.count) names, but 'LISTEN_FDS' is '\(count)'. "
                        + "Do not set the variables yourself; the service manager sets them."
                )
            }
        }
        sockets = (0..<count).map { index in
            Socket(descriptor: Self.firstDescriptor + CInt(index), name: index < names.count ? names[index] : "")
        }
        // Reject a socket for the control plane, because the gateway would serve clients on it.
        guard !sockets.contains(where: { $0.name == Self.controlName }) else {
            throw InvalidSetting(
                "A socket of the service manager has the name '\(Self.controlName)'. "
                    + "The control plane creates its own socket ('control.socket'). Remove this one from the socket unit."
            )
        }
    }

    /// Takes ownership of the sockets: child processes inherit neither the sockets nor the
    /// variables.
    ///
    /// Call this function before other threads read the environment.
    /// - Throws: `InvalidSetting` if a descriptor is not open.
    package func take() throws(InvalidSetting) {
        for variable in Self.variables { unsetenv(variable) }
        for socket in sockets {
            guard fcntl(socket.descriptor, F_SETFD, FD_CLOEXEC) == 0 else {
                throw InvalidSetting(
                    "'LISTEN_FDS' is '\(sockets.count)', but descriptor \(socket.descriptor) is not open. "
                        + "Do not set the variable yourself; the service manager sets it."
                )
            }
        }
    }
}
