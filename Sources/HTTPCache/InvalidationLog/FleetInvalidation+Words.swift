import HTTPCacheSemantics

/// Invalidations in readable form for operators, without secrets.
extension InvalidationScope {
    /// A word for the kind of scope: `url`, `prefix`, `host`, `tag`, `principal`, `key` or `all`.
    package var kindName: String {
        switch self {
        case .target: "url"
        case .prefix: "prefix"
        case .host: "host"
        case .tag: "tag"
        case .principal: "principal"
        case .key: "key"
        case .all: "all"
        }
    }

    /// The URL, prefix, host or tag; for a key, its URL; `nil` for everything. Secret parameters
    /// and the names of principals are replaced.
    package var redactedSelector: String? {
        switch self {
        case .target(let target): target.redacted
        case .prefix(let prefix): prefix.redacted
        case .host(let host): host.name
        case .tag(let name): name
        case .principal: Redaction.placeholder
        case .key(let key): key.components.target.redacted
        case .all: nil
        }
    }
}

extension InvalidationEffect {
    /// The effect's name: `remove` or `expire`.
    package var name: String {
        switch self {
        case .remove: "remove"
        case .mark: "expire"
        }
    }
}
