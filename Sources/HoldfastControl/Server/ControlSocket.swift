public import LocalSockets

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

    /// The name of the socket file in a folder.
    public static let name = "control.sock"

    /// The most bytes in a path: the size of a socket address, including the terminator.
    public static let maximumPath = UnixAddress.maximumPath

    /// A path cannot be used.
    public typealias Refusal = SocketRefusal

    /// Creates a reference to the socket at a path.
    public init(path: String) { self.path = path }

    /// The default socket of a gateway: in the runtime folder that the service manager created,
    /// otherwise in the store's folder.
    public init(store: String, environment: [String: String]) {
        // The variable may name several folders, separated by colons.
        let runtime = environment["RUNTIME_DIRECTORY"]?.split(separator: ":").first.map(String.init)
        path = Self.path(in: runtime.flatMap { $0.hasPrefix("/") ? $0 : nil } ?? store)
    }

    /// The path of the file in a folder.
    static func path(in folder: String) -> String { folder + (folder.hasSuffix("/") ? "" : "/") + name }

    /// The socket of a store's gateway, as another process finds it: the file in the store's
    /// folder, or the target of the link there.
    public static func inStore(_ folder: String) -> ControlSocket {
        let path = path(in: folder)
        var target = [CChar](repeating: 0, count: 4096)
        let length = readlink(path, &target, target.count)
        guard length > 0 else { return ControlSocket(path: path) }
        return ControlSocket(path: String(decoding: target[..<length].map(UInt8.init(bitPattern:)), as: UTF8.self))
    }

    /// The result of trying to connect.
    public typealias Reach = SocketReach

    /// Tries to connect.
    public var reach: Reach { location.reach }

    /// The socket's location in the file system, with names for messages.
    var location: SocketLocation {
        SocketLocation(
            path: path,
            kind: "control socket",
            setting: "'control.socket' in the configuration file",
            furtherAdvice: ", or set RUNTIME_DIRECTORY"
        )
    }
}
