#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Why a path cannot be used for a Unix socket.
public struct SocketRefusal: Error, Sendable, Hashable, CustomStringConvertible {
    /// Sentences that name the path, the limit and the next step.
    public let description: String
    /// Whether the reason is another process that listens there.
    public var isInUse = false
}

/// The result of trying to connect to a Unix socket.
public enum SocketReach: Sendable, Hashable {
    /// A process listens.
    case live
    /// There is no socket, or no process listens.
    case nobody
    /// The user may not connect, or it cannot be told whether a process listens.
    case denied
}

/// The path of a Unix socket, and how messages name it.
package struct SocketLocation: Sendable, Hashable {
    package let path: String
    /// The kind of the socket: `control socket`.
    private let kind: String
    /// The setting that names the path.
    private let setting: String
    /// More advice on a path that is too long.
    private let furtherAdvice: String

    package init(path: String, kind: String, setting: String, furtherAdvice: String = "") {
        self.path = path
        self.kind = kind
        self.setting = setting
        self.furtherAdvice = furtherAdvice
    }

    /// Tries to connect.
    package var reach: SocketReach {
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

    /// Makes sure that the system has room for the path, and for that of the draft beside it.
    package func checkLength() throws(SocketRefusal) {
        // Its last part has no fixed length, that of the draft has.
        let longest = max(path.utf8.count, (folder + "/.XXXXXX/s").utf8.count)
        guard longest <= UnixAddress.maximumPath else {
            throw SocketRefusal(
                description: "The path of the \(kind) '\(path)' needs \(longest) bytes; "
                    + "the system's limit is \(UnixAddress.maximumPath). "
                    + "Set a shorter path with \(setting)\(furtherAdvice)."
            )
        }
    }

    /// Makes sure that a file at the path may be replaced: only a socket without a process may.
    func checkFile() throws(SocketRefusal) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFSOCK else {
            throw SocketRefusal(
                description: "'\(path)' is not a socket. Move the file, or set another path with \(setting)."
            )
        }
        switch reach {
        case .nobody: return
        case .live: throw refusalInUse
        case .denied:
            throw SocketRefusal(
                description: "The \(kind) '\(path)' belongs to user \(status.st_uid). Remove it, "
                    + "or set another path with \(setting)."
            )
        }
    }

    /// For a path that another process has.
    var refusalInUse: SocketRefusal {
        SocketRefusal(
            description: "Another process is listening on the \(kind) '\(path)'. Set another path with \(setting).",
            isInUse: true
        )
    }

    /// For an error of the system.
    package func refusal(_ code: CInt) -> SocketRefusal {
        SocketRefusal(
            description: "The \(kind) '\(path)' cannot be created: \(String(cString: strerror(code))). "
                + "Set another path with \(setting)."
        )
    }
}
