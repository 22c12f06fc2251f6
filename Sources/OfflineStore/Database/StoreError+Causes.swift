import LibC
import StoreFiles

extension StoreError {
    /// Wraps any underlying error as a store error; a store error is unchanged.
    init(_ error: any Error, path: String) {
        if let error = error as? StoreError {
            self = error
        } else if let failure = error as? SystemFailure {
            self = failure.storeError
        } else if let inUse = error as? FolderLock.InUse {
            self = inUse.storeError
        } else if let failure = error as? SQLiteFailure {
            self = failure.storeError(path: path)
        } else {
            self.init(code: .io, message: "An operation on '\(path)' failed: \(error). Try again.", cause: error)
        }
    }
}

extension SystemFailure {
    /// The store error for this failure.
    var storeError: StoreError {
        switch number {
        case EACCES, EPERM, EROFS:
            StoreError(
                code: .unwritable,
                message:
                    "Cannot \(operation) '\(path)': \(reason). Give this process write permission there, or choose another folder.",
                cause: self
            )
        case ENOSPC, EDQUOT:
            StoreError(
                code: .full,
                message:
                    "Cannot \(operation) '\(path)': the disk is full. Free some space; the store then resumes automatically.",
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

extension FolderLock.InUse {
    fileprivate var storeError: StoreError {
        StoreError(
            code: .inUse,
            message: "The store '\(folder)' is open for writing in \(holder). "
                + "Only one process can write at a time. Stop that process, or open the store read-only."
        )
    }
}
