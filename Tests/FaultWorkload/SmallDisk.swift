#if os(Linux)
    import Glibc

    /// A real file system of eight megabytes, if this process may mount one.
    package final class SmallDisk: Sendable {
        /// The path at which it is mounted.
        package let path: String

        /// - Parameter folder: the folder in which it is mounted as `disk`.
        package init?(in folder: String) {
            path = folder + "/disk"
            mkdir(path, 0o700)
            guard mount("tmpfs", path, "tmpfs", 0, "size=8m") == 0 else { return nil }
        }

        /// Whether this process may mount: only root may, and the tests are skipped otherwise.
        package static var isPossible: Bool {
            var template = Array("/tmp/holdfast-disk-XXXXXX".utf8CString)
            guard mkdtemp(&template) != nil else { return false }
            let folder = template.withUnsafeBufferPointer { String(cString: $0.baseAddress.unsafelyUnwrapped) }
            defer {
                rmdir(folder + "/disk")
                rmdir(folder)
            }
            return SmallDisk(in: folder) != nil
        }

        deinit { umount2(path, Int32(MNT_DETACH)) }

        /// Uses all the space.
        ///
        /// - Returns: the number of bytes used.
        @discardableResult
        package func fill() -> Int {
            let descriptor = open(path + "/filler", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
            defer { close(descriptor) }
            var count = 0
            for length in [65_536, 4096, 1] {
                let bytes = [UInt8](repeating: 1, count: length)
                while case let step = write(descriptor, bytes, length), step > 0 { count += step }
            }
            return count
        }

        /// Frees the space, even if a process that another test has started inherited the open
        /// file.
        package func free() {
            truncate(path + "/filler", 0)
            unlink(path + "/filler")
        }
    }
#endif
