import CommandLineSupport
import OfflineStore
import Synchronization

/// Shows the progress of a backup on standard error: a percentage if that is a terminal, and what
/// was removed.
final class BackupProgress: Sendable {
    /// The percentage on the terminal; `nil` if there is none.
    private let shown = Mutex<Int64?>(nil)
    private let isTerminal = StandardStream.error.isTerminal

    func show(_ event: StoreBackup.Progress) {
        switch event {
        case .removedUnfinished(let folder):
            StandardStream.error.line("Removed '\(Formatting.printable(folder))', which an interrupted backup left.")
        case .copied(let bytes, of: let total):
            guard isTerminal, let percentage = Self.percentage(bytes, of: total) else { return }
            let isNew = shown.withLock { shown in
                defer { shown = percentage }
                return shown != percentage
            }
            if isNew { write("\r\(percentage) %") }
        }
    }

    /// Returns a percentage below 100, because entries and indexes follow the bodies.
    static func percentage(_ bytes: Int64, of total: Int64) -> Int64? {
        guard bytes >= 0, total >= 100 else { return nil }
        return min(bytes / (total / 100), 99)
    }

    /// Removes the percentage from the terminal.
    func end() {
        if shown.withLock({ $0 }) != nil { write("\r    \r") }
    }

    private func write(_ text: String) {
        try? Array(text.utf8).withUnsafeBytes { try StandardStream.error.write($0) }
    }
}
