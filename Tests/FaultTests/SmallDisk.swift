#if os(Linux)
    import Glibc

    /// A real file system with eight megabytes, where this process may mount one.
    final class SmallDisk: Sendable {
        let path: String

        init?(_ folder: TemporaryFolder) {
            path = folder.path + "/disk"
            mkdir(path, 0o700)
            guard mount("tmpfs", path, "tmpfs", 0, "size=8m") == 0 else { return nil }
        }

        /// Mounting is root's: elsewhere these tests are skipped, and say so.
        static var isPossible: Bool {
            guard let folder = try? TemporaryFolder() else { return false }
            return SmallDisk(folder) != nil
        }

        deinit { umount2(path, Int32(MNT_DETACH)) }

        /// Takes all the room there is.
        func fill() {
            let descriptor = open(path + "/filler", O_WRONLY | O_CREAT, 0o600)
            defer { close(descriptor) }
            for length in [65_536, 4096, 1] {
                let octets = [UInt8](repeating: 1, count: length)
                while write(descriptor, octets, length) > 0 {}
            }
        }

        func free() { unlink(path + "/filler") }
    }
#endif
