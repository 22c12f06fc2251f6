import Crypto
import Synchronization

/// The query texts that clients have registered by their SHA-256: automatic persisted queries.
final class PersistedQueries: Sendable {
    static let maximumCount = 1_000

    enum Lookup {
        /// The text to run.
        case text(String)
        /// The query is not registered yet: the client sends it again with the text.
        case notFound
        /// The hash is not that of the text.
        case mismatch
        /// Neither a text nor a hash.
        case missing
    }

    private let texts = Mutex<[String: String]>([:])

    /// The text of a request: its own, which is registered when it names its hash, or the one of
    /// that hash.
    func lookUp(query: String?, hash: String?) -> Lookup {
        guard let hash = hash?.lowercased() else { return query.map(Lookup.text) ?? .missing }
        guard let query else { return texts.withLock { $0[hash] }.map(Lookup.text) ?? .notFound }
        guard hexadecimal(SHA256.hash(data: Array(query.utf8))) == hash else { return .mismatch }
        texts.withLock { texts in
            if texts.count < Self.maximumCount { texts[hash] = query }
        }
        return .text(query)
    }

    func reset() {
        texts.withLock { $0.removeAll() }
    }
}
