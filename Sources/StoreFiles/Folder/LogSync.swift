import LibC
import Synchronization

/// Syncs a write-ahead log while its writer continues. Commits made before the call are then
/// durable.
///
/// This uses its own descriptor. SQLite's locks are on other files, so closing this descriptor
/// releases none of them.
package final class LogSync: Sendable {
    private struct State {
        var file: FileHandle?
        var hasFailed = false
    }

    private let path: String
    private let state = Mutex(State())

    /// - Parameter path: the log's path.
    package init(path: String) { self.path = path }

    /// Syncs the log.
    ///
    /// - Returns: `false` if a sync has failed since the last call to ``recover()``. The kernel may
    ///   have dropped data that it could not write, and may not report that again.
    package func synchronize() throws -> Bool {
        try state.withLock { state in
            if state.hasFailed { return false }
            do {
                if let file = state.file {
                    try file.synchronize()
                } else {
                    let file = try FileHandle(path: path, flags: O_RDONLY | O_NOFOLLOW)
                    try file.synchronize()
                    // SQLite syncs a new log's folder with its own first sync, which may not have
                    // happened yet.
                    try synchronizeFolder(String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]))
                    state.file = file
                }
            } catch {
                state.hasFailed = true
                throw error
            }
            return true
        }
    }

    /// Records that the log's content has become durable in another way.
    package func recover() { state.withLock { $0.hasFailed = false } }
}
