package import HTTPCacheSemantics

/// An invalidation in the form in which other nodes receive it.
package struct FleetInvalidation: Hashable, Sendable {
    package var id: PurgeID
    package var scope: InvalidationScope
    package var effect: InvalidationEffect
    /// When the invalidation took effect on the node that issued it.
    package var issuedAt: Timestamp
    /// The scopes that the rules and routes of the node that applies it add to ``scope``. They are
    /// neither journaled nor published.
    package var localScopes: [InvalidationScope] = []

    /// The scopes to invalidate here, each with its effect.
    ///
    /// ``localScopes`` are only marked. The node reads each scope as if a client requested it, even
    /// an origin's URL, so they may cover responses that no operator named.
    package var parts: [(scope: InvalidationScope, effect: InvalidationEffect)] {
        var parts: [(scope: InvalidationScope, effect: InvalidationEffect)] = [(scope, effect)]
        for scope in localScopes { parts.append((scope: scope, effect: .mark(.unspecified))) }
        return parts
    }

    package init(id: PurgeID, scope: InvalidationScope, effect: InvalidationEffect, issuedAt: Timestamp) {
        self.id = id
        self.scope = scope
        self.effect = effect
        self.issuedAt = issuedAt
    }
}

/// The persistent form of a scope, used in a store's journal and, sealed, in the log.
package struct ScopeSelector: Hashable, Sendable {
    /// The kinds of scopes. The numbers are on disk and in the log, so their meanings never change.
    package enum Kind: UInt8, Sendable {
        case all = 0
        case target = 1
        case key = 2
        case tag = 3
        case prefix = 4
        case host = 5
        case principal = 6
    }

    package var kind: Kind
    package var bytes: [UInt8]

    /// The maximum length of a selector in bytes: a cache key with the longest target and its other
    /// parts.
    package static let longest = 80 << 10

    package init(kind: Kind, bytes: [UInt8]) {
        self.kind = kind
        self.bytes = bytes
    }

    package init(_ scope: InvalidationScope) {
        switch scope {
        case .all: self.init(kind: .all, bytes: [])
        case .target(let target):
            // A URI that would be parsed differently is sent as a prefix, which covers it.
            if target.parsesUnchanged {
                self.init(kind: .target, bytes: Array(target.uri.utf8))
            } else {
                self.init(kind: .prefix, bytes: TargetPrefix(target).canonicalBytes)
            }
        case .key(let key): self.init(kind: .key, bytes: key.bytes)
        case .tag(let name): self.init(kind: .tag, bytes: Array(name.utf8))
        case .prefix(let prefix): self.init(kind: .prefix, bytes: prefix.canonicalBytes)
        case .host(let host): self.init(kind: .host, bytes: Array(host.name.utf8))
        case .principal(let name): self.init(kind: .principal, bytes: Array(name.utf8))
        }
    }

    /// The scope; `nil` if the bytes are invalid for the kind.
    package var scope: InvalidationScope? {
        switch kind {
        case .all: bytes.isEmpty ? .all : nil
        case .target: text.flatMap { try? TargetURI($0) }.map(InvalidationScope.target)
        case .key: StoreKey(bytes: bytes).map(InvalidationScope.key)
        case .tag: text.map(InvalidationScope.tag)
        case .prefix: TargetPrefix(canonicalBytes: bytes).map(InvalidationScope.prefix)
        case .host: text.flatMap { try? TargetHost($0) }.map(InvalidationScope.host)
        case .principal: text.map(InvalidationScope.principal)
        }
    }

    private var text: String? { String(validating: bytes, as: UTF8.self) }
}

extension InvalidationEffect {
    /// The effect's number on disk and in the log: 0 for a removal; otherwise 1 plus the number of
    /// the mark's cause.
    package var number: UInt8 {
        switch self {
        case .remove: 0
        case .mark(let cause): 1 + UInt8(clamping: cause.rawValue)
        }
    }

    /// Creates an effect from its number; `nil` if no effect has the number.
    package init?(number: UInt8) {
        if number == 0 {
            self = .remove
        } else if let cause = InvalidationCause(rawValue: .init(number - 1)) {
            self = .mark(cause)
        } else {
            return nil
        }
    }
}
