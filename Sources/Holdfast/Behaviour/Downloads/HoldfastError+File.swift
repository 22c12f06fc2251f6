#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

extension HoldfastError {
    /// Something that could not be done with a file.
    ///
    /// - Parameter what: as it goes on after "could not": `be written`.
    init(file path: String, _ number: Int32, _ what: String) {
        let reason: String
        switch number {
        case ENOSPC, EDQUOT:
            reason = "the disk is full. Make room; what came so far is kept where the download can go on with it"
        case EFBIG: reason = "its file system takes no file of this size"
        case ENOENT, ENOTDIR: reason = "its folder is missing. Make it, or let 'createsFolders' do it"
        case EACCES, EPERM, EROFS: reason = "it may not be written there"
        case ELOOP: reason = "a link stands in its place"
        default: reason = String(cString: strerror(number))
        }
        self.init(code: .fileFailed, message: "The file '\(path)' could not \(what): \(reason).")
    }

    /// A destination that has a file already.
    init(taken path: String) {
        self.init(
            code: .fileFailed,
            message: "'\(path)' is there already, and was not replaced. Choose another file, or set 'overwrites'."
        )
    }
}
