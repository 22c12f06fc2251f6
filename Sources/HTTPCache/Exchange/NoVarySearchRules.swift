import Crypto
import HTTPCacheSemantics
import HTTPTypes

/// What `No-Vary-Search` says of a path, remembered in the store. Internet-Draft; only with
/// ``EngineOptions/usesNoVarySearch``
///
/// The rule comes with a response and counts for every query of its path. So a response that brings
/// one is stored under its query as the rule canonicalises it, and the rule itself under the path
/// without a query, with a method that no request has; a lookup asks for the rule, canonicalises
/// its own query, and finds what any equivalent query stored.
struct NoVarySearchRules {
    let engine: CacheEngine

    static let method = HTTPRequest.Method(rawValue: "NO-VARY-SEARCH")

    /// The keys under which equivalent queries are stored, each with the rule by which they are
    /// equivalent: none where no rule is known, or it changes nothing.
    ///
    /// A response that is found there answers only where it brought that rule itself: another's
    /// says nothing about it.
    ///
    /// - Parameter sharedKey: what everybody's response to it is stored under; the same key where
    ///   nobody else's may answer.
    func equivalents(of key: CacheKey, sharedKey: CacheKey) async -> [(key: CacheKey, rule: NoVarySearch)] {
        var result: [(key: CacheKey, rule: NoVarySearch)] = []
        for partition in key == sharedKey ? [key] : [key, sharedKey] {
            guard let rule = await rule(for: partition), let equivalent = Self.canonical(partition, by: rule),
                equivalent != key
            else { continue }
            result.append((equivalent, rule))
        }
        return result
    }

    /// Remembers the rule that a response brings.
    ///
    /// - Parameter boundary: the response's.
    /// - Returns: the draft under the key of every equivalent query.
    func learn(
        from draft: ResponseDraft,
        fence: InvalidationSequence,
        _ boundary: MessageBoundary?
    ) async -> ResponseDraft {
        let rule = NoVarySearch(draft.head.fields)
        guard !rule.isDefault, let ruleKey = Self.ruleKey(for: draft.key),
            let canonical = Self.canonical(draft.key, by: rule)
        else { return draft }
        if await self.rule(for: draft.key) != rule {
            let head = StoredResponseHead(
                requestMethod: Self.method ?? .get,
                status: .noContent,
                fields: HTTPFields(draft.head.fields.filter { $0.name.canonicalName == "no-vary-search" }),
                requestTime: draft.head.requestTime,
                responseTime: draft.head.responseTime
            )
            let record = ResponseDraft(
                key: ruleKey,
                head: head,
                freshUntil: .distantFuture,
                isUsableStale: true,
                expectedLength: 0,
                storedAt: draft.storedAt
            )
            let stored = await engine.recovering("noVarySearch") {
                try await engine.store.beginWrite(record, fence: fence)?.finish()
            }
            if let stored, let stored { await engine.undo(.stored(stored), ifCrossed: boundary) }
        }
        var draft = draft
        draft.key = canonical
        return draft
    }

    private func rule(for key: CacheKey) async -> NoVarySearch? {
        guard let ruleKey = Self.ruleKey(for: key) else { return nil }
        let found = await engine.recovering("lookup") { try await engine.store.lookup(ruleKey) } ?? []
        let rule = found.first.map { NoVarySearch($0.head.fields) }
        return rule?.isDefault == false ? rule : nil
    }

    private static func ruleKey(for key: CacheKey) -> CacheKey? {
        let components = key.components
        guard let method, components.content == nil, let path = components.target.withQuery(nil) else { return nil }
        return CacheKey(partition: components.partition, method: method, target: path)
    }

    private static func canonical(_ key: CacheKey, by rule: NoVarySearch) -> CacheKey? {
        let components = key.components
        guard let target = components.target.withQuery(rule.normalizedQuery(components.target.query)) else {
            return nil
        }
        return CacheKey(partition: components.partition, method: components.method, target: target)
    }
}

extension TargetURI {
    /// The tag of every response to this path, whatever its query, that brought a rule: what
    /// invalidates one of them invalidates them all.
    ///
    /// A digest, because a path may be longer than a tag.
    var searchTag: String? {
        guard let path = withQuery(nil) else { return nil }
        let digest = SHA256.hash(data: Array(path.uri.utf8))
        return "search " + digest.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
}
