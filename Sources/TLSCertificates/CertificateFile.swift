import LibC
import LocalFiles

/// A file that contains certificates or a key.
package struct CertificateFile {
    /// The maximum size of a file: 1 MiB
    static let limit = 1 << 20

    /// A value that changes when a file's content changes, or when another file replaces it.
    package struct Stamp: Hashable, Sendable {
        private var device: UInt64 = 0
        private var inode: UInt64 = 0
        private var size: Int64 = 0
        private var changed: [Int] = []

        /// - Returns: an empty stamp if there is no such file.
        package init(_ path: String) {
            var status = stat()
            guard stat(path, &status) == 0 else { return }
            device = UInt64(truncatingIfNeeded: status.st_dev)
            inode = UInt64(status.st_ino)
            size = Int64(status.st_size)
            #if canImport(Darwin)
                let times = [status.st_mtimespec, status.st_ctimespec]
            #else
                let times = [status.st_mtim, status.st_ctim]
            #endif
            changed = times.flatMap { [Int($0.tv_sec), Int($0.tv_nsec)] }
        }
    }

    let path: String
    package let bytes: [UInt8]

    /// - Parameter isKey: whether only the process's user and group may have access to the file.
    /// - Throws: ``CertificateRefusal``
    package init(_ path: String, isKey: Bool = false) throws(CertificateRefusal) {
        self.path = path
        do throws(LocalFile.Refusal) {
            bytes = try LocalFile.read(path, limit: Self.limit, isSecret: isKey)
        } catch {
            throw CertificateRefusal(error.path, error.message)
        }
    }
}
