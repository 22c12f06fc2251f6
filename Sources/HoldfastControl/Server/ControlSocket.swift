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
    public static let maximumPath = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

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
        let folder = runtime.flatMap { $0.hasPrefix("/") ? $0 : nil } ?? store
        path = folder + (folder.hasSuffix("/") ? "" : "/") + Self.name
    }

    /// The socket that a store's gateway listens on, as another process finds it: the file in the
    /// store's folder, or the socket that it is a link to.
    public static func inStore(_ folder: String) -> ControlSocket {
        let path = folder + (folder.hasSuffix("/") ? "" : "/") + name
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
        guard let descriptor = try? Self.open() else { return .denied }
        defer { close(descriptor) }
        return withAddress { address, length in
            if connect(descriptor, address, length) == 0 { return .live }
            return [ECONNREFUSED, ENOENT, ENOTDIR].contains(errno) ? .nobody : .denied
        } ?? .nobody
    }

    // MARK: Making it

    /// Makes sure that the path can be listened on. A socket that no process listens on is removed.
    ///
    /// - Throws: ``Refusal``
    func prepare() throws(Refusal) {
        guard path.utf8.count <= Self.maximumPath else {
            throw Refusal(
                description: "The path of the control socket '\(path)' has \(path.utf8.count) bytes; "
                    + "the limit of the system is \(Self.maximumPath). "
                    + "Name a shorter one with 'control.socket' in the configuration file, or set RUNTIME_DIRECTORY."
            )
        }
        if let status = Self.status(path) {
            guard status.st_mode & S_IFMT == S_IFSOCK else {
                throw Refusal(
                    description: "'\(path)' is no socket. Move the file, "
                        + "or name another path with 'control.socket' in the configuration file."
                )
            }
            switch reach {
            case .nobody: break
            case .live:
                throw Refusal(
                    description: "Another process listens on the control socket '\(path)'. "
                        + "Name another path with 'control.socket' in the configuration file.",
                    isInUse: true
                )
            case .denied:
                throw Refusal(
                    description: "The control socket '\(path)' belongs to user \(status.st_uid). Remove it, "
                        + "or name another path with 'control.socket' in the configuration file."
                )
            }
            unlink(path)
        }
        try tryBinding()
    }

    /// Binds a socket and removes it again, so that an error shows before clients are served.
    private func tryBinding() throws(Refusal) {
        let descriptor: CInt
        do { descriptor = try Self.open() } catch { throw refusal(error.code) }
        defer { close(descriptor) }
        guard withAddress({ bind(descriptor, $0, $1) == 0 }) == true else { throw refusal(errno) }
        unlink(path)
    }

    private func refusal(_ code: CInt) -> Refusal {
        Refusal(
            description: "The control socket '\(path)' cannot be made: \(String(cString: strerror(code))). "
                + "Name another path with 'control.socket' in the configuration file."
        )
    }

    /// Lets its owner and its group connect. Until then the process's own mask of permissions
    /// applies.
    func permit() { chmod(path, 0o660) }

    /// Leads other processes from the store's folder to the socket, if it is elsewhere.
    func link(fromStore folder: String) {
        let link = folder + "/" + Self.name
        guard link != path else { return }
        if let status = Self.status(link), [S_IFLNK, S_IFSOCK].contains(status.st_mode & S_IFMT) { unlink(link) }
        symlink(path, link)
    }

    /// Removes the socket, and the link to it.
    func remove(store folder: String) {
        let link = folder + "/" + Self.name
        if ControlSocket.inStore(folder) == self { unlink(link) }
        unlink(path)
    }

    // MARK: System calls

    private struct SystemError: Error { let code: CInt }

    private static func open() throws(SystemError) -> CInt {
        #if canImport(Glibc)
            let stream = CInt(SOCK_STREAM.rawValue)
        #else
            let stream = SOCK_STREAM
        #endif
        let descriptor = socket(AF_UNIX, stream, 0)
        guard descriptor >= 0 else { throw SystemError(code: errno) }
        return descriptor
    }

    private static func status(_ path: String) -> stat? {
        var status = stat()
        return lstat(path, &status) == 0 ? status : nil
    }

    /// - Returns: `nil` if the path is too long for an address.
    private func withAddress<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result? {
        guard path.utf8.count <= Self.maximumPath else { return nil }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}
