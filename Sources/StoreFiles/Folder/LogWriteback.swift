import Dispatch
import LibC
import Synchronization

/// Makes the kernel write the write-ahead log to disk while the log grows.
///
/// A checkpoint first syncs the log, and writers wait for that sync: for up to 32 MiB, or only for
/// the part that is not yet on disk. This is only a hint, and nothing relies on it: durability
/// depends only on syncs. Only Linux has a system call for it; elsewhere, nothing happens.
package final class LogWriteback: Sendable {
    /// The number of bytes between two hints.
    private static let step: Int64 = 1 << 20

    private let path: String
    private let pending = Atomic<Int64>(0)
    private let isBusy = Atomic(false)
    private let file = Mutex<FileHandle?>(nil)
    /// Even starting the write takes a moment, so it runs separately from commits.
    private let thread = DispatchQueue(label: "holdfast.store.writeback", qos: .utility)

    /// - Parameter path: the log's path.
    package init(path: String) { self.path = path }

    /// Records that bytes were added to the log, and sends a hint if one is due.
    package func note(_ bytes: Int64) {
        #if os(Linux)
            guard pending.add(bytes, ordering: .relaxed).newValue >= Self.step, Self.begin != nil,
                !isBusy.exchange(true, ordering: .acquiring)
            else { return }
            pending.store(0, ordering: .relaxed)
            thread.async {
                self.beginWriting()
                self.isBusy.store(false, ordering: .releasing)
            }
        #endif
    }

    #if os(Linux)
        private func beginWriting() {
            file.withLock { file in
                if file == nil { file = try? FileHandle(path: path, flags: O_RDONLY | O_NOFOLLOW) }
                // The hint covers the whole file, because parts that are already on disk cost
                // nothing.
                if let file { _ = Self.begin?(file.descriptor, 0, 0, Self.write) }
            }
        }

        /// `SYNC_FILE_RANGE_WRITE`: starts writing pages that are not being written yet, without
        /// waiting.
        private static let write: UInt32 = 2

        /// `sync_file_range`, which C libraries declare only for GNU sources, so Swift's modules
        /// omit it.
        private static let begin: (@convention(c) (CInt, Int64, Int64, UInt32) -> CInt)? = {
            typealias Function = @convention(c) (CInt, Int64, Int64, UInt32) -> CInt
            return dlsym(nil, "sync_file_range").map { unsafeBitCast($0, to: Function.self) }
        }()
    #endif
}
