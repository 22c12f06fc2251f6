import LibC
import StoreFiles

extension StoreError {
    /// Wraps any underlying error as a store error; a store error is unchanged.
    ///
    /// - Parameter whileOpening: whether the store is not in use yet, so nothing resumes by itself.
    init(_ error: any Error, path: String, whileOpening: Bool = false) {
        if let error = error as? StoreError {
            self = error
        } else if let failure = error as? SystemFailure {
            self = failure.storeError(whileOpening: whileOpening)
        } else if let inUse = error as? FolderLock.InUse {
            self = inUse.storeError
        } else if let failure = error as? SQLiteFailure {
            self = failure.storeError(path: path, whileOpening: whileOpening)
        } else {
            self.init(code: .io, message: "An operation on '\(path)' failed: \(error). Try again.", cause: error)
        }
    }
}

extension StoreError {
    static func fullDiskAdvice(_ whileOpening: Bool) -> String {
        whileOpening
            ? "Free some space, then start again." : "Free some space; the store then resumes automatically."
    }
}

extension SystemFailure {
    /// Returns the store error for this failure.
    func storeError(whileOpening: Bool = false) -> StoreError {
        switch number {
        case EACCES, EPERM, EROFS:
            StoreError(
                code: .unwritable,
                message: "Cannot \(operation) '\(path)': \(reason). \(AccessAdvice(path: path, number: number))",
                cause: self
            )
        case ENOSPC, EDQUOT:
            StoreError(
                code: .full,
                message:
                    "Cannot \(operation) '\(path)': the disk is full. \(StoreError.fullDiskAdvice(whileOpening))",
                cause: self
            )
        case EMFILE, ENFILE: Self.outOfDescriptors(path, cause: self)
        default:
            StoreError(
                code: .io,
                message: "Cannot \(operation) '\(path)': \(reason). Check the disk and the path.",
                cause: self
            )
        }
    }

    static func outOfDescriptors(_ path: String, cause: any Error) -> StoreError {
        StoreError(
            code: .io,
            message:
                "Cannot open '\(path)': this process has reached its limit of open files and connections. Raise the limit "
                + "('ulimit -n', or 'LimitNOFILE' in its systemd unit), or reduce its load.",
            cause: cause
        )
    }
}

/// The next step for a path that this process may not read or write.
struct AccessAdvice: CustomStringConvertible {
    var isFileSystemReadOnly: Bool
    /// The user who owns the path; `nil` if unknown.
    var owner: uid_t?
    /// The user of this process.
    var user: uid_t
    /// The nearest folder above the path, if the path does not exist or is hidden; otherwise `nil`.
    var folder: String?

    init(isFileSystemReadOnly: Bool, owner: uid_t?, user: uid_t, folder: String? = nil) {
        (self.isFileSystemReadOnly, self.owner, self.user) = (isFileSystemReadOnly, owner, user)
        self.folder = folder
    }

    /// - Parameter number: the system's error.
    init(path: String, number: Int32) {
        var place = path
        // A folder that may not be entered hides its content, so its own owner counts.
        var owner = (try? FileStatus(path: place))?.owner
        while owner == nil, let slash = place.lastIndex(of: "/"), slash != place.startIndex {
            place = String(place[..<slash])
            owner = (try? FileStatus(path: place))?.owner
        }
        let isReadOnly = number == EROFS || FileSystemStatus(path: place)?.isReadOnly == true
        let folder = place == path ? nil : place
        self.init(isFileSystemReadOnly: isReadOnly, owner: owner, user: geteuid(), folder: folder)
    }

    var description: String {
        if isFileSystemReadOnly { return "Remount its file system writable, or choose another folder." }
        if let owner, owner != user, user != 0 {
            guard let folder else {
                return "Run this as the user that owns it (uid \(owner)), or choose another folder."
            }
            return
                "This user (uid \(user)) lacks access to '\(folder)', which belongs to uid \(owner). Choose another folder, or run this as that user."
        }
        return "Give this process access there, or choose another folder."
    }
}

extension FolderLock.InUse {
    fileprivate var storeError: StoreError {
        let advice =
            isHeldHere
            ? "Only one client or store can write at a time. Close the other one first, or share it."
            : "Only one process can write at a time. Stop that process first."
        return StoreError(
            code: .inUse,
            message: "The store '\(folder)' is open for writing in \(holder). \(advice)"
        )
    }
}
