package import LibC
import Synchronization

/// One process's exclusive claim to listen at a socket's path.
///
/// The claim is a system lock on a file next to the socket, so that only one of several processes
/// that start at the same time gets it. The socket is created in a folder that no other user can
/// enter, gets its permissions there, and is then moved to its path. It therefore never has other
/// permissions.
package final class SocketClaim: Sendable {
    package let location: SocketLocation
    /// The path to bind. ``publish(mode:)`` moves the socket from here.
    package let draft: String

    private let folder: String
    private let state: Mutex<State>

    private struct State {
        /// The descriptor of the locked file, until the claim is released.
        var lock: CInt?
        /// The socket that was moved to its path.
        var published: FileIdentity?
    }

    /// Claims the path. A socket left behind by a killed process is replaced.
    ///
    /// - Throws: ``SocketRefusal`` if the path is too long or unusable, or if a process is
    ///   listening there.
    package init(_ location: SocketLocation) throws(SocketRefusal) {
        try location.checkLength()
        let lock = try Self.lock(location)
        do {
            try location.checkFile()
            folder = try Self.makeFolder(in: location.folder, for: location)
        } catch {
            Self.unlock(lock, location)
            throw error
        }
        draft = folder + "/s"
        self.location = location
        state = Mutex(State(lock: lock))
        // Try binding now, so that an error appears before clients are served.
        let code = UnixAddress.tryBinding(draft)
        guard code == 0 else { throw location.refusal(code) }
    }

    /// Takes over the claim of another process, which has passed its lock and its socket to this
    /// process, and has called ``handOver()``. The socket stays at its path.
    ///
    /// - Throws: ``SocketRefusal``, as ``check(_:takingOver:)``.
    package init(_ location: SocketLocation, takingOver lock: OpenDescriptor) throws(SocketRefusal) {
        let published = try Self.check(location, takingOver: lock)
        let copy = fcntl(lock.number, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { throw location.refusal(errno) }
        (folder, draft) = ("", "")
        self.location = location
        state = Mutex(State(lock: copy, published: published))
    }

    /// Checks whether another process's claim could be taken over.
    ///
    /// - Returns: the socket at the path.
    /// - Throws: ``SocketRefusal`` if the descriptor is not the lock on this path, or if the socket
    ///   was removed.
    @discardableResult
    package static func check(
        _ location: SocketLocation,
        takingOver lock: OpenDescriptor
    ) throws(SocketRefusal) -> FileIdentity {
        // The descriptors of both processes belong to one lock, which lasts until both are closed.
        guard flock(lock.number, LOCK_EX | LOCK_NB) == 0,
            let identity = FileIdentity(of: lock.number), identity == FileIdentity(of: location.path + ".lock")
        else { throw location.refusalInUse }
        guard let published = FileIdentity(of: location.path), published.kind == S_IFSOCK else {
            throw location.refusal(ENOENT)
        }
        return published
    }

    deinit { release() }

    /// Moves the bound socket to its path. Call this after binding ``draft``. If the socket is
    /// there already, this only sets its permissions.
    ///
    /// - Parameter mode: the permissions. By default, the owner and group may connect.
    /// - Throws: ``SocketRefusal``
    package func publish(mode: mode_t = 0o660) throws(SocketRefusal) {
        let code = state.withLock { state -> CInt in
            guard state.published == nil else { return chmod(location.path, mode) == 0 ? 0 : errno }
            guard chmod(draft, mode) == 0, let identity = FileIdentity(of: draft), rename(draft, location.path) == 0
            else { return errno }
            state.published = identity
            return 0
        }
        guard code == 0 else { throw location.refusal(code) }
        if !folder.isEmpty { rmdir(folder) }
    }

    /// Opens a socket that listens at ``draft``.
    ///
    /// - Throws: ``SocketRefusal``
    package func listen() throws(SocketRefusal) -> OpenDescriptor {
        let descriptor = UnixAddress.listen(at: draft)
        guard descriptor >= 0 else { throw location.refusal(errno) }
        return OpenDescriptor(owning: descriptor)
    }

    /// Returns a copy of the lock's descriptor, for the process that takes over the claim.
    ///
    /// - Returns: `nil` if the claim was released, or if the process has too many open files.
    package func copyOfLock() -> OpenDescriptor? {
        state.withLock { $0.lock.flatMap { OpenDescriptor(copyOf: $0) } }
    }

    /// Leaves the socket and its path to the process that has taken over the claim.
    package func handOver() {
        state.withLock { state in
            guard let lock = state.lock else { return }
            state.lock = nil
            // Closing one of two descriptors does not unlock.
            close(lock)
        }
    }

    /// The identity of the socket that was moved to its path.
    package var published: FileIdentity? { state.withLock { $0.published } }

    /// Removes the socket, unless another process has replaced it, and releases the path.
    package func release() {
        state.withLock { state in
            guard let lock = state.lock else { return }
            state.lock = nil
            if let published = state.published {
                // A process without the lock may have replaced the socket.
                if FileIdentity(of: location.path) == published { unlink(location.path) }
            } else {
                unlink(draft)
                rmdir(folder)
            }
            Self.unlock(lock, location)
        }
    }

    // MARK: The lock

    /// The maximum number of attempts to lock a file that its previous owner has just removed.
    private static let attempts = 100

    private static func lock(_ location: SocketLocation) throws(SocketRefusal) -> CInt {
        let path = location.path + ".lock"
        for _ in 0..<attempts {
            let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
            guard descriptor >= 0 else { throw location.refusal(errno) }
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                let code = errno
                close(descriptor)
                throw code == EWOULDBLOCK ? location.refusalInUse : location.refusal(code)
            }
            if FileIdentity(of: descriptor) == FileIdentity(of: path) { return descriptor }
            close(descriptor)
        }
        throw location.refusalInUse
    }

    /// Removes the file while it is locked, so that a process that opened it earlier detects the
    /// removal.
    private static func unlock(_ descriptor: CInt, _ location: SocketLocation) {
        unlink(location.path + ".lock")
        close(descriptor)
    }

    private static func makeFolder(
        in parent: String,
        for location: SocketLocation
    ) throws(SocketRefusal) -> String {
        // The system chooses the name and creates the folder for this user only.
        var template = Array((parent + "/.XXXXXX").utf8CString)
        guard mkdtemp(&template) != nil else { throw location.refusal(errno) }
        return String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}

/// The identity of a file, regardless of its names.
package struct FileIdentity: Hashable, Sendable {
    private let device: UInt64
    private let number: UInt64
    /// The file type, such as `S_IFSOCK` or `S_IFLNK`.
    package let kind: mode_t

    /// Reads the identity of the file at a path. Symbolic links are not followed.
    package init?(of path: String) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    /// Reads the identity of an open file.
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
    /// Binds a socket, and then removes it.
    ///
    /// - Returns: 0 or the system's error.
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
