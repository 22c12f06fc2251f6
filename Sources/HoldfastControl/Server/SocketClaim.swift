import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The right of one process to listen at a socket's path.
///
/// A lock of the system on a file beside the socket is the right, so that of several processes that
/// start together one gets it. The socket is made in a folder that no other user may enter, gets
/// its permissions there, and is moved to its path: it never has others.
final class SocketClaim: Sendable {
    let socket: ControlSocket
    /// The path to bind. ``publish()`` moves the socket from here.
    let draft: String

    private let folder: String
    private let state: Mutex<State>

    private struct State {
        /// The descriptor of the locked file, until the claim is released.
        var lock: CInt?
        /// The socket that was moved to its path.
        var published: FileIdentity?
    }

    /// Claims the path. A socket that a killed process left there is replaced.
    ///
    /// - Throws: ``ControlSocket/Refusal`` if the path is too long, if it cannot be used, or if a
    ///   process listens there.
    init(_ socket: ControlSocket) throws(ControlSocket.Refusal) {
        // Its last part has no fixed length, that of the draft has.
        let parent = socket.folder
        try socket.checkLength(of: [socket.path, parent + "/.XXXXXX/s"])
        let lock = try Self.lock(socket)
        do {
            try socket.checkFile()
            folder = try Self.makeFolder(in: parent, for: socket)
        } catch {
            Self.unlock(lock, socket)
            throw error
        }
        draft = folder + "/s"
        self.socket = socket
        state = Mutex(State(lock: lock))
        // An error shows before clients are served.
        let code = UnixAddress.tryBinding(draft)
        guard code == 0 else { throw socket.refusal(code) }
    }

    deinit { release() }

    /// Moves the bound socket to its path, for its owner and its group.
    ///
    /// - Throws: ``ControlSocket/Refusal``
    func publish() throws(ControlSocket.Refusal) {
        let code = state.withLock { state -> CInt in
            guard chmod(draft, 0o660) == 0, let identity = FileIdentity(of: draft), rename(draft, socket.path) == 0
            else { return errno }
            state.published = identity
            return 0
        }
        guard code == 0 else { throw socket.refusal(code) }
        rmdir(folder)
    }

    /// Leads other processes from the store's folder to the socket, if it is elsewhere.
    ///
    /// - Returns: whether it can be found in the folder now.
    func link(fromStore folder: String) -> Bool {
        let link = ControlSocket.path(in: folder)
        let published = state.withLock { $0.published }
        // The folder may have several names: a link must not replace the socket itself.
        if let found = FileIdentity(of: link) {
            if found == published { return true }
            switch found.kind {
            case S_IFLNK: unlink(link)
            case S_IFSOCK where ControlSocket(path: link).reach == .nobody: unlink(link)
            default: return false
            }
        }
        return symlink(socket.path, link) == 0
    }

    /// Removes the link from a store's folder, unless it leads elsewhere.
    func removeLink(fromStore folder: String) {
        let link = ControlSocket.path(in: folder)
        if FileIdentity(of: link)?.kind == S_IFLNK, ControlSocket.inStore(folder) == socket { unlink(link) }
    }

    /// Removes the socket, unless another one is there, and gives the path back.
    func release() {
        state.withLock { state in
            guard let lock = state.lock else { return }
            state.lock = nil
            if let published = state.published {
                // Another process may have replaced it, without the lock.
                if FileIdentity(of: socket.path) == published { unlink(socket.path) }
            } else {
                unlink(draft)
                rmdir(folder)
            }
            Self.unlock(lock, socket)
        }
    }

    // MARK: The lock

    /// How often a lock on a file is taken that its last owner has just removed.
    private static let attempts = 100

    private static func lock(_ socket: ControlSocket) throws(ControlSocket.Refusal) -> CInt {
        let path = socket.path + ".lock"
        for _ in 0..<attempts {
            let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
            guard descriptor >= 0 else { throw socket.refusal(errno) }
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                let code = errno
                close(descriptor)
                throw code == EWOULDBLOCK ? socket.refusalInUse : socket.refusal(code)
            }
            if FileIdentity(of: descriptor) == FileIdentity(of: path) { return descriptor }
            close(descriptor)
        }
        throw socket.refusalInUse
    }

    /// The file is removed while it is locked: a process that opened it before finds that out.
    private static func unlock(_ descriptor: CInt, _ socket: ControlSocket) {
        unlink(socket.path + ".lock")
        close(descriptor)
    }

    private static func makeFolder(
        in parent: String,
        for socket: ControlSocket
    ) throws(ControlSocket.Refusal) -> String {
        // The system chooses the name, and makes the folder for this user alone.
        var template = Array((parent + "/.XXXXXX").utf8CString)
        guard mkdtemp(&template) != nil else { throw socket.refusal(errno) }
        return String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}

/// A file as the system tells it from others, whatever its names are.
struct FileIdentity: Hashable {
    private let device: UInt64
    private let number: UInt64
    /// Its type: `S_IFSOCK`, `S_IFLNK`.
    let kind: mode_t

    /// The file at a path. A symbolic link is a file of its own.
    init?(of path: String) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    /// An open file.
    init?(of descriptor: CInt) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }

    private init(_ status: stat) {
        device = UInt64(truncatingIfNeeded: status.st_dev)
        number = UInt64(truncatingIfNeeded: status.st_ino)
        kind = status.st_mode & S_IFMT
    }
}

extension UnixAddress {
    /// Binds a socket and removes it again.
    ///
    /// - Returns: 0, or the error of the system.
    fileprivate static func tryBinding(_ path: String) -> CInt {
        guard let address = UnixAddress(path) else { return ENAMETOOLONG }
        let descriptor = open()
        guard descriptor >= 0 else { return errno }
        defer { close(descriptor) }
        guard address.withPointer({ bind(descriptor, $0, $1) }) == 0 else { return errno }
        unlink(path)
        return 0
    }
}
