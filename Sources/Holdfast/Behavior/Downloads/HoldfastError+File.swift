import HoldfastContent
import LibC

extension HoldfastError {
    /// Creates the error of a file operation.
    ///
    /// - Parameter what: the words after "could not", such as `be written`.
    init(file path: String, _ number: Int32, _ what: String) {
        let reason: String
        switch number {
        case ENOSPC, EDQUOT:
            reason = "the disk is full. Free some space; the received part is kept if the download can be resumed"
        case EFBIG: reason = "its file system does not allow files of this size"
        case ENOENT, ENOTDIR: reason = "its folder is missing. Create it, or set 'createsFolders'"
        case EACCES, EPERM, EROFS: reason = "permission was denied, or the file system is read-only"
        case ELOOP: reason = "a symbolic link has its name"
        default: reason = String(cString: strerror(number))
        }
        self.init(code: .fileFailed, message: "The file '\(path)' could not \(what): \(reason).")
    }

    /// Creates the error for a destination that already exists.
    init(existing path: String) {
        self.init(
            code: .fileFailed,
            message: "'\(path)' already exists and was not replaced. Choose another file, or set 'overwrites'."
        )
    }
}
