import Dispatch
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Has the system write the log to the disk while it is added to.
///
/// A checkpoint syncs the log first, and whoever writes waits for it: for 32 MiB, or for what is
/// left of them. This is a hint and nothing relies on it; what is durable, and when, is a matter of
/// syncing alone. Linux has a call for it; elsewhere nothing happens.
final class LogWriteback: Sendable {
    /// Bytes from one hint to the next.
    private static let step: Int64 = 1 << 20

    private let path: String
    private let pending = Atomic<Int64>(0)
    private let isBusy = Atomic(false)
    private let file = Mutex<FileHandle?>(nil)
    /// Beginning to write takes a moment too, in which the next commit need not wait.
    private let thread = DispatchQueue(label: "holdfast.store.writeback", qos: .utility)

    /// - Parameter path: the log's.
    init(path: String) { self.path = path }

    /// Notes that so much was added to the log.
    func note(_ bytes: Int64) {
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
                // The whole file: what is written already costs nothing.
                if let file { _ = Self.begin?(file.descriptor, 0, 0, Self.write) }
            }
        }

        /// `SYNC_FILE_RANGE_WRITE`: begins to write what is not being written yet, and waits for
        /// none of it.
        private static let write: UInt32 = 2

        /// `sync_file_range`, which the C libraries declare for GNU's own sources alone; Swift's
        /// modules leave it out.
        private static let begin: (@convention(c) (CInt, Int64, Int64, UInt32) -> CInt)? = {
            typealias Function = @convention(c) (CInt, Int64, Int64, UInt32) -> CInt
            return dlsym(nil, "sync_file_range").map { unsafeBitCast($0, to: Function.self) }
        }()
    #endif
}
