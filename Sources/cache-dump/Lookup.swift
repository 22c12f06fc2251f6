import CommandLineSupport
import HTTPCacheSemantics
import OfflineStore

/// Finds the entries for a command-line argument: a URL, an object's key, or an ID.
struct Lookup {
    private static let shortestID = 4

    let store: CacheManager
    let key: String

    /// Returns the entries that match the argument: at least one.
    ///
    /// - Throws: ``CommandFailure`` or `StoreError`.
    func entries(number: Int64?) async throws -> [StoreEntry] {
        let found = try await candidates()
        guard !found.isEmpty else {
            let isShort = !key.contains("://") && key.utf8.count < Self.shortestID
            throw CommandFailure(
                "Nothing is stored under '\(shownKey)' in '\(store.folder)'. 'cache-dump list' shows all entries."
                    + (key.contains("://")
                        ? " It shows the URLs of origins, not those that a gateway's clients request." : "")
                    + (isShort ? " An ID needs at least \(Self.shortestID) digits." : "")
            )
        }
        guard let number else { return found }
        let chosen = found.filter { $0.id == number }
        guard !chosen.isEmpty else {
            throw CommandFailure(
                "No entry of '\(shownKey)' has the number \(number). Omit '--entry' to see all of them."
            )
        }
        return chosen
    }

    /// Returns the candidates. An exact match takes precedence over a prefix match. A key that
    /// looks like an ID or a URL is still a key.
    private func candidates() async throws -> [StoreEntry] {
        var found: [StoreEntry] = []
        if let object = try await store.entry(forObjectKey: key) { found.append(object) }
        if key.contains("://") {
            for target in try targets() { found += try await store.entries(for: target) }
        } else if found.isEmpty, key.utf8.count >= Self.shortestID {
            found = try await store.entries(withShortIDPrefix: key.lowercased())
            let ids = Set(found.map(\.shortID))
            guard ids.count <= 1 else {
                throw CommandFailure("'\(key)' matches \(ids.count) IDs. Give more digits.")
            }
        }
        return found
    }

    private func targets() throws -> [TargetURI] {
        do {
            return try TargetURI.readings(of: key)
        } catch {
            throw CommandFailure("\(error)")
        }
    }

    private var shownKey: String {
        Formatting.printable(key.contains("://") ? Redaction.uriText(key, limit: 200) : String(key.prefix(200)))
    }
}
