import HTTPCache
import HTTPCacheSemantics
import StoreFiles

/// Responses that one index finds, in the order of their numbers.
enum ScopeSelection: Sendable {
    case target(TargetURI)
    case key(StoreKey)
    case tag(String)
    /// Prefixes, hosts and principals: every key is compared with their encodings.
    case compared([[UInt8]])
    case all

    /// The selections of some scopes, in their order. All that are compared are one.
    static func selections(_ scopes: [InvalidationScope]) -> [ScopeSelection] {
        var selections: [ScopeSelection] = []
        var compared: [[UInt8]] = []
        for scope in scopes {
            switch scope {
            case .target(let target): selections.append(.target(target))
            case .key(let key): selections.append(.key(key))
            case .tag(let name): selections.append(.tag(name))
            case .prefix(let prefix): compared.append(prefix.canonicalBytes)
            case .host(let host): compared.append(host.canonicalBytes)
            case .principal(let name): compared.append(KeyOwner(name).canonicalBytes)
            case .all: selections.append(.all)
            }
        }
        return compared.isEmpty ? selections : selections + [.compared(compared)]
    }

    /// Whether it includes a response with this key, among the rows that the index finds.
    func covers(_ key: UnsafeRawBufferPointer) -> Bool {
        switch self {
        case .target(let target): StoreKey(bytes: Array(key))?.components.target == target
        case .key(let wanted): key.elementsEqual(wanted.bytes)
        case .tag, .all: true
        case .compared(let encodings):
            encodings.contains { encoding in
                encoding.withUnsafeBytes { TargetPrefix.covers(prefix: $0, key: key) }
            }
        }
    }

    /// The SQL for the rows to examine: `?1` is the number they come after, `?3` the value, if any.
    struct Rows {
        var tables = "entry"
        var condition: String
        var value: Int64?
    }

    /// - Returns: `nil` if there are no rows.
    func rows(_ connection: Connection, _ state: DatabaseState) throws -> Rows? {
        switch self {
        case .target(let target):
            let hash = state.hash(target.canonicalBytes, .target)
            return Rows(condition: "target_hash = ?3 AND entry.id > ?1 ORDER BY entry.id", value: hash)
        case .key(let key):
            let hash = state.hash(key.bytes, .responseKey)
            return Rows(condition: "key_hash = ?3 AND entry.id > ?1 ORDER BY entry.id", value: hash)
        case .tag(let name):
            guard let tag = try TagName(name, state).number(connection) else { return nil }
            return Rows(
                tables: "entry_tag t CROSS JOIN entry ON entry.id = t.entry_id",
                condition: "t.tag_id = ?3 AND t.entry_id > ?1 ORDER BY t.entry_id",
                value: tag
            )
        case .compared, .all: return Rows(condition: "entry.id > ?1 ORDER BY entry.id")
        }
    }
}
