import Crypto
import HTTPCacheSemantics
import HTTPTypes

/// The `No-Vary-Search` rules of paths, kept in the store. Used only with
/// ``EngineOptions/usesNoVarySearch``, because the specification is an Internet-Draft.
///
/// A rule arrives with a response and applies to every query of its path. A response with a rule is
/// stored under the canonical form of its query. The rule itself is stored under the path without a
/// query, with a method that no request has. A lookup reads the rule, canonicalizes its own query,
/// and finds the response of any equivalent query.
struct NoVarySearchRules {
    let engine: CacheEngine

    /// Returns the keys under which equivalent queries are stored, each with the rule that makes
    /// the queries equivalent; empty if no rule is known, or if the rule does not change the key.
    ///
    /// A response under such a key may be served only if the response itself has the rule, because
    /// another response's rule does not apply to it.
    ///
    /// - Parameter commonKey: the common response's key; equal to `key` if no common response may
    ///   be served.
    func equivalents(of key: CacheKey, commonKey: CacheKey) async -> [(key: CacheKey, rule: NoVarySearch)] {
        var result: [(key: CacheKey, rule: NoVarySearch)] = []
        for partition in key == commonKey ? [key] : [key, commonKey] {
            guard let rule = await rule(for: partition), let equivalent = Self.canonical(partition, by: rule),
                equivalent != key
            else { continue }
            result.append((equivalent, rule))
        }
        return result
    }

    /// Stores a response's rule.
    ///
    /// - Parameter boundary: the response's message boundary.
    /// - Returns: the draft, under the key that all equivalent queries share.
    func learn(
        from draft: ResponseDraft,
        fencingNumber: InvalidationSequence,
        _ boundary: MessageBoundary?
    ) async -> ResponseDraft {
        let rule = NoVarySearch(draft.head.fields)
        guard !rule.isDefault, let ruleKey = Self.ruleKey(for: draft.key),
            let canonical = Self.canonical(draft.key, by: rule)
        else { return draft }
        if await self.rule(for: draft.key) != rule {
            let head = StoredResponseHead(
                requestMethod: HTTPRequest.Method.noVarySearch ?? .get,
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
                try await engine.store.beginWrite(record, fencingNumber: fencingNumber)?.finish()
            }
            if let stored, let stored { await engine.undo(StoredChange(response: stored), ifCrossed: boundary) }
        }
        var draft = draft
        draft.key = canonical
        return draft
    }

    private func rule(for key: CacheKey) async -> NoVarySearch? {
        guard let ruleKey = Self.ruleKey(for: key) else { return nil }
        let rule = await engine.lookup(ruleKey)?.first.map { NoVarySearch($0.head.fields) }
        return rule?.isDefault == false ? rule : nil
    }

    private static func ruleKey(for key: CacheKey) -> CacheKey? {
        let components = key.components
        guard let method = HTTPRequest.Method.noVarySearch, components.content == nil,
            let path = components.target.withQuery(nil)
        else { return nil }
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
    /// The tag of every response to this path that has a rule, whatever its query. Invalidating one
    /// of these responses invalidates all of them.
    ///
    /// The tag is a digest, because a path may be longer than a tag may be.
    var searchTag: String? {
        guard let path = withQuery(nil) else { return nil }
        return "search " + SHA256.hash(data: Array(path.uri.utf8)).hexadecimal
    }
}
