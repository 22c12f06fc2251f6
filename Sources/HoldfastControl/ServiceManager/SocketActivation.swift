#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The sockets that a service manager passes to this process: `sd_listen_fds(3)` of systemd.
///
/// The manager makes and keeps them. So clients are not refused while one process ends and the next
/// one starts: their connections wait.
package struct SocketActivation: Sendable, Hashable {
    /// A descriptor, and the name that the manager has for it.
    package struct Socket: Sendable, Hashable {
        package let descriptor: CInt
        /// `FileDescriptorName=` of a socket unit, or the unit's name; empty if the manager names
        /// none.
        package let name: String
    }

    /// A variable of the environment is malformed, or a descriptor cannot be used.
    package struct Refusal: Error, Sendable, Hashable, CustomStringConvertible {
        /// Sentences that name the variable, its value, and the values that are allowed.
        package let description: String
    }

    /// The number of the first descriptor.
    package static let firstDescriptor: CInt = 3
    /// The name of a socket of the control plane.
    private static let controlName = "control"
    private static let variables = ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"]

    /// In the manager's order.
    package let sockets: [Socket]

    /// Reads `LISTEN_PID`, `LISTEN_FDS` and `LISTEN_FDNAMES`. An empty variable is treated as not
    /// set.
    ///
    /// - Parameters:
    ///   - process: the number of this process. Sockets for another one are not this one's.
    ///   - limit: the most sockets.
    /// - Throws: ``Refusal``
    package init(environment: [String: String], process: Int32, limit: Int) throws(Refusal) {
        func number(_ name: String, _ expected: String, _ range: ClosedRange<Int>) throws(Refusal) -> Int? {
            guard let text = environment[name], !text.isEmpty else { return nil }
            guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(text), range.contains(number)
            else {
                throw Refusal(
                    description: "'\(name)' must be \(expected), not '\(ControlProblem.shown(text))'. "
                        + "Do not set the variable yourself; the service manager sets it."
                )
            }
            return number
        }
        // Without this variable, or with another number, the sockets are for a parent of this
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
                throw Refusal(
                    description: "'LISTEN_FDNAMES' has \(names.count) names, but 'LISTEN_FDS' is '\(count)'. "
                        + "Do not set the variables yourself; the service manager sets them."
                )
            }
        }
        sockets = (0..<count).map { index in
            Socket(descriptor: Self.firstDescriptor + CInt(index), name: index < names.count ? names[index] : "")
        }
        // Clients of the gateway must not meet the operators' socket, or the other way round.
        guard !sockets.contains(where: { $0.name == Self.controlName }) else {
            throw Refusal(
                description: "A socket of the service manager has the name '\(Self.controlName)'. "
                    + "The control plane creates its own socket ('control.socket'). Remove this one from the socket unit."
            )
        }
    }

    /// Takes the sockets over: processes that this one starts get neither them nor the variables.
    ///
    /// Call it before other threads read the environment.
    /// - Throws: ``Refusal`` if a descriptor is not open.
    package func take() throws(Refusal) {
        for variable in Self.variables { unsetenv(variable) }
        for socket in sockets {
            guard fcntl(socket.descriptor, F_SETFD, FD_CLOEXEC) == 0 else {
                throw Refusal(
                    description: "'LISTEN_FDS' is '\(sockets.count)', but descriptor \(socket.descriptor) is not open. "
                        + "Do not set the variable yourself; the service manager sets it."
                )
            }
        }
    }
}
