#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The Unix socket of a control plane: its path, and the file there.
public struct ControlSocket: Sendable, Hashable {
    /// The absolute path of the socket.
    public let path: String

    /// The name of the file in a folder.
    public static let name = "control.sock"

    /// The most bytes in a path: what a socket's address has room for, with its terminator.
    public static let maximumPath = UnixAddress.maximumPath

    /// Why a path cannot be used.
    public struct Refusal: Error, Sendable, Hashable, CustomStringConvertible {
        /// Sentences that name the path, the limit and the next step.
        public let description: String
        /// Whether the reason is another process that listens there.
        public var isInUse = false
    }

    /// The socket at a path.
    public init(path: String) { self.path = path }

    /// The socket of a gateway whose configuration names none: in the folder that the service
    /// manager made for sockets, else in the store's folder.
    public init(store: String, environment: [String: String]) {
        // The variable may name several folders, separated by colons.
        let runtime = environment["RUNTIME_DIRECTORY"]?.split(separator: ":").first.map(String.init)
        path = Self.path(in: runtime.flatMap { $0.hasPrefix("/") ? $0 : nil } ?? store)
    }

    /// The path of the file in a folder.
    static func path(in folder: String) -> String { folder + (folder.hasSuffix("/") ? "" : "/") + name }

    /// The socket that a store's gateway listens on, as another process finds it: the file in the
    /// store's folder, or the socket that it is a link to.
    public static func inStore(_ folder: String) -> ControlSocket {
        let path = path(in: folder)
        var target = [CChar](repeating: 0, count: 4096)
        let length = readlink(path, &target, target.count)
        guard length > 0 else { return ControlSocket(path: path) }
        return ControlSocket(path: String(decoding: target[..<length].map(UInt8.init(bitPattern:)), as: UTF8.self))
    }

    /// The result of trying to connect.
    public enum Reach: Sendable, Hashable {
        /// A process listens.
        case live
        /// There is no socket, or no process listens.
        case nobody
        /// The user may not connect, or it cannot be told whether a process listens.
        case denied
    }

    /// Tries to connect.
    public var reach: Reach {
        guard let address = UnixAddress(path) else { return .nobody }
        let descriptor = UnixAddress.open()
        guard descriptor >= 0 else { return .denied }
        defer { close(descriptor) }
        if address.withPointer({ connect(descriptor, $0, $1) }) == 0 { return .live }
        return [ECONNREFUSED, ENOENT, ENOTDIR].contains(errno) ? .nobody : .denied
    }

    // MARK: Checking it

    /// The folder of the socket.
    var folder: String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/." : String(path[..<slash])
    }

    /// - Parameter paths: the paths at which it will be for a time.
    func checkLength(of paths: [String]) throws(Refusal) {
        let longest = paths.map(\.utf8.count).max() ?? 0
        guard longest <= Self.maximumPath else {
            throw Refusal(
                description: "The path of the control socket '\(path)' needs \(longest) bytes; "
                    + "the limit of the system is \(Self.maximumPath). "
                    + "Name a shorter one with 'control.socket' in the configuration file, or set RUNTIME_DIRECTORY."
            )
        }
    }

    /// Makes sure that a file at the path may be replaced: only a socket without a process may.
    func checkFile() throws(Refusal) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFSOCK else {
            throw Refusal(
                description: "'\(path)' is no socket. Move the file, "
                    + "or name another path with 'control.socket' in the configuration file."
            )
        }
        switch reach {
        case .nobody: return
        case .live: throw refusalInUse
        case .denied:
            throw Refusal(
                description: "The control socket '\(path)' belongs to user \(status.st_uid). Remove it, "
                    + "or name another path with 'control.socket' in the configuration file."
            )
        }
    }

    /// For a path that another process has.
    var refusalInUse: Refusal {
        Refusal(
            description: "Another process listens on the control socket '\(path)'. "
                + "Name another path with 'control.socket' in the configuration file.",
            isInUse: true
        )
    }

    /// For an error of the system.
    func refusal(_ code: CInt) -> Refusal {
        Refusal(
            description: "The control socket '\(path)' cannot be made: \(String(cString: strerror(code))). "
                + "Name another path with 'control.socket' in the configuration file."
        )
    }
}
