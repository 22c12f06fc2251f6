import Synchronization

/// The files that the configuration names and that the gateway rereads while it runs: certificates,
/// keys, tokens, passwords, and the access log, which is reopened.
///
/// A signal and the control plane reread them all, so both find the same faults. Each part also
/// rereads its own files regularly. A file that cannot be used changes nothing.
final class RereadFiles: Sendable {
    /// A part of the gateway that rereads files.
    struct Source: Sendable {
        /// Reads the files again, and logs faults.
        var reread: @Sendable () -> Void
        /// Why files cannot be used now, a sentence each.
        var problems: @Sendable () -> [String]
    }

    private let sources: Mutex<[Source]>

    init(_ sources: [Source]) { self.sources = Mutex(sources) }

    func add(_ source: Source) { sources.withLock { $0.append(source) } }

    /// Rereads all files. Call this from no event loop.
    func reread() { for source in sources.withLock({ $0 }) { source.reread() } }

    /// Two parts may have the same problem, as with a token that both of them use.
    var problems: [String] {
        var seen: Set<String> = []
        return sources.withLock { $0 }.flatMap { $0.problems() }.filter { seen.insert($0).inserted }
    }
}
