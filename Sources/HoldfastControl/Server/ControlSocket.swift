import LibC
package import LocalSockets

/// The Unix socket of a control plane, identified by its path.
package struct ControlSocket: Sendable, Hashable {
    /// The absolute path of the socket.
    package let path: String

    /// The name of the socket file in a folder.
    package static let name = "control.sock"

    /// The maximum length of a path, in bytes: the size of a socket address, including the
    /// terminator.
    package static let maximumPath = UnixAddress.maximumPath

    /// Creates a reference to the socket at a path.
    package init(path: String) { self.path = path }

    /// Creates a reference to a gateway's default socket: in the runtime folder that the service
    /// manager created, otherwise in the store's folder.
    package init(store: String, environment: [String: String]) {
        // The variable may contain several folders, separated by colons.
        let runtime = environment["RUNTIME_DIRECTORY"]?.split(separator: ":").first.map(String.init)
        path = Self.path(in: runtime.flatMap { $0.hasPrefix("/") ? $0 : nil } ?? store)
    }

    /// Returns the path of the socket file in a folder.
    static func path(in folder: String) -> String { folder + (folder.hasSuffix("/") ? "" : "/") + name }

    /// Returns the socket of the gateway that uses a store, for another process: the file in the
    /// store's folder, or the target of the link there.
    package static func inStore(_ folder: String) -> ControlSocket {
        let path = path(in: folder)
        var target = [CChar](repeating: 0, count: 4096)
        let length = readlink(path, &target, target.count)
        guard length > 0 else { return ControlSocket(path: path) }
        return ControlSocket(path: String(decoding: target[..<length].map(UInt8.init(bitPattern:)), as: UTF8.self))
    }

    /// The result of an attempt to connect.
    package typealias Reach = SocketReach

    /// The result of an attempt to connect now.
    package var reach: Reach { location.reach }

    /// The socket's location in the file system, with names for messages.
    package var location: SocketLocation {
        SocketLocation(
            path: path,
            kind: "control socket",
            setting: "'control.socket' in the configuration file",
            furtherAdvice: ", or set RUNTIME_DIRECTORY"
        )
    }
}
