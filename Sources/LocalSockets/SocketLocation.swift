import LibC

/// The reason that a path cannot be used for a Unix socket.
package struct SocketRefusal: Error, Sendable, Hashable, CustomStringConvertible {
    /// The message. It contains the path, the limit and the next step.
    package let description: String
    /// Whether another process is listening there.
    package var isInUse = false
}

/// The result of trying to connect to a Unix socket.
package enum SocketReach: Sendable, Hashable {
    /// A process is listening.
    case live
    /// There is no socket, or no process is listening.
    case nobody
    /// The user may not connect, or it is unknown whether a process is listening.
    case denied
}

/// The path of a Unix socket, and how messages refer to it.
package struct SocketLocation: Sendable, Hashable {
    package let path: String
    /// The kind of socket, such as `control socket`.
    private let kind: String
    /// The name of the setting that contains the path.
    private let setting: String
    /// Additional advice for a path that is too long.
    private let furtherAdvice: String

    package init(path: String, kind: String, setting: String, furtherAdvice: String = "") {
        self.path = path
        self.kind = kind
        self.setting = setting
        self.furtherAdvice = furtherAdvice
    }

    /// The result of trying to connect.
    package var reach: SocketReach {
        guard let address = UnixAddress(path) else { return .nobody }
        let descriptor = UnixAddress.open()
        guard descriptor >= 0 else { return .denied }
        defer { close(descriptor) }
        // A stopped process accepts no connections. A blocking call would wait at a full queue.
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        if address.withPointer({ connect(descriptor, $0, $1) }) == 0 || errno == EAGAIN { return .live }
        return [ECONNREFUSED, ENOENT, ENOTDIR].contains(errno) ? .nobody : .denied
    }

    // MARK: Checking it

    /// The folder of the socket.
    var folder: String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/." : String(path[..<slash])
    }

    /// Checks whether a process of this user could listen here. Creates nothing.
    ///
    /// - Throws: ``SocketRefusal``; ``SocketRefusal/isInUse`` if a process is listening here.
    package func check() throws(SocketRefusal) {
        try checkLength()
        guard access(folder, W_OK | X_OK) == 0 else { throw refusal(errno) }
        try checkFile()
    }

    /// Checks that the path and the path of the draft next to it fit into a socket address.
    package func checkLength() throws(SocketRefusal) {
        // A short last component makes the socket's path shorter than the draft's path.
        let longest = max(path.utf8.count, (folder + "/.XXXXXX/s").utf8.count)
        guard longest <= UnixAddress.maximumPath else {
            throw SocketRefusal(
                description: "The path of the \(kind) '\(path)' needs \(longest) bytes; "
                    + "the system's limit is \(UnixAddress.maximumPath). "
                    + "Set a shorter path with \(setting)\(furtherAdvice)."
            )
        }
    }

    /// Checks that any file at the path may be replaced. Only a socket without a listening process
    /// may be replaced.
    func checkFile() throws(SocketRefusal) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT != S_IFDIR else {
            let file = path.hasSuffix("/") ? "\(path)holdfast.sock" : "\(path)/holdfast.sock"
            throw SocketRefusal(
                description: "'\(path)' is a folder. Set the path of a socket, such as '\(file)', with \(setting)."
            )
        }
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

    /// The refusal for a path that another process is using.
    var refusalInUse: SocketRefusal {
        SocketRefusal(
            description: "Another process is listening on the \(kind) '\(path)'. Set another path with \(setting).",
            isInUse: true
        )
    }

    /// Returns the refusal for a system error.
    package func refusal(_ code: CInt) -> SocketRefusal {
        SocketRefusal(
            description: "The \(kind) '\(path)' cannot be created: \(String(cString: strerror(code))). "
                + "Set another path with \(setting)."
        )
    }
}
