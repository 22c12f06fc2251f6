import Crypto
import Synchronization

/// Automatic persisted queries: the query texts that clients have registered under their SHA-256.
final class PersistedQueries: Sendable {
    static let maximumCount = 1_000

    enum Lookup {
        /// The text to run.
        case text(String)
        /// The query is not registered yet. The client must send the request again with the text.
        case notFound
        /// The hash does not match the text.
        case mismatch
        /// The request has neither a text nor a hash.
        case missing
    }

    private let texts = Mutex<[String: String]>([:])

    /// Returns the text of a request: its own text, which is registered if the request states the
    /// hash too, or the text registered under its hash.
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
