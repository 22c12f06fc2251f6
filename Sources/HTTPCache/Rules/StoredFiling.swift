package import HTTPCacheSemantics
package import HTTPTypes

/// What rules make of a response that is stored already: under which key it is looked up, and how
/// long it is of use.
///
/// Made by the code that prepares requests and reads responses, so that nothing is decided twice.
/// Of the request that brought the response no more is known than its key and its selecting fields:
/// whose it is stays as it was, because a partition is an HMAC of fields that are not stored.
package struct StoredFiling: Sendable {
    /// How long after its freshness a response is used, and what forbids it; in seconds.
    package struct Staleness: Sendable, Hashable, Codable {
        /// The directive that forbids stale use; `nil`: none does.
        package var forbiddenBy: String?
        /// See ``PolicyOverrides/staleWhileRevalidate``.
        package var whileRevalidate: Int64?
        /// See ``PolicyOverrides/maximumStaleness``.
        package var normal: Int64?
        /// See ``PolicyOverrides/staleIfError``.
        package var onError: Int64?
        /// See ``PolicyOverrides/maximumStalenessOffline``.
        package var offline: Int64?
    }

    /// A request for it, as far as it is known: by method and target.
    package let request: HTTPRequest
    /// The key under which it is looked up.
    package let key: CacheKey
    /// The head as it would have been stored: with the selecting fields that count.
    package let head: StoredResponseHead
    /// See `CachePolicy.freshnessLifetime(of:)`; milliseconds.
    package let lifetime: Int64
    /// What a store indexes: see ``ResponseDraft/freshUntil``.
    package let freshUntil: Timestamp
    /// What a store indexes: see ``ResponseDraft/isUsableStale``.
    package let isUsableStale: Bool
    /// Budgets and prohibitions.
    package let staleness: Staleness
    /// No request looks it up: rules lead all of them past the store, or do not have its status
    /// stored.
    package let isPassedBy: Bool
    private let settings: ExchangeSettings

    /// - Parameters:
    ///   - rules: `nil`: none.
    ///   - policy: of the cache that has stored it.
    ///   - usesNoVarySearch: see ``EngineOptions/usesNoVarySearch``.
    /// - Returns: `nil` for what is no response to a request, but a note of the engine's own.
    package init?(
        _ stored: StoredResponse,
        rules: (any ExchangeRules)?,
        policy: CachePolicy,
        usesNoVarySearch: Bool = false
    ) {
        let parts = stored.key.components
        guard parts.method != SearchRules.method else { return nil }
        request = HTTPRequest(
            method: parts.method,
            scheme: parts.target.scheme,
            authority: parts.target.authority,
            path: parts.target.requestTarget
        )
        let found = rules?.rules(for: request) ?? .none
        settings = found.settings(for: stored.head.fields)
        var target = parts.target
            .rewritten(dropping: found.dropped, sorting: found.settings.target.sortsParameters)
            .ignoring(found.ignored)
        if usesNoVarySearch, parts.content == nil {
            let rule = NoVarySearch(stored.head.fields)
            if !rule.isDefault { target = target.withQuery(rule.normalizedQuery(target.query)) ?? target }
        }
        key = CacheKey(partition: parts.partition, method: parts.method, target: target, content: parts.content)
        head = Self.head(stored.head, settings)
        var policy = policy
        if found.hasOverrides { policy.overriding = found }
        if found.settings.principal != nil, parts.partition != .shared { policy.kind = .private }
        lifetime = policy.freshnessLifetime(of: head).milliseconds
        freshUntil = policy.freshUntil(head)
        isUsableStale = policy.isUsableStale(head)
        var staleness = Staleness()
        if case .forbidden(let directive) = policy.staleUse(of: head) { staleness.forbiddenBy = directive }
        let overrides = settings.overrides
        staleness.whileRevalidate = overrides.staleWhileRevalidate
        staleness.normal = overrides.maximumStaleness
        staleness.onError = overrides.staleIfError
        staleness.offline = overrides.maximumStalenessOffline
        self.staleness = staleness
        isPassedBy =
            settings.isBypassed || !settings.admits(parts.method)
            || !settings.stores(head.status)
    }

    private static func head(_ stored: StoredResponseHead, _ settings: ExchangeSettings) -> StoredResponseHead {
        var head = stored
        let ignored = settings.overrides.ignoredFields
        if !ignored.isEmpty, head.selectingFields.contains(where: { ignored.contains($0.name.canonicalName) }) {
            head.selectingFields = HTTPFields(
                head.selectingFields.filter { !ignored.contains($0.name.canonicalName) }
            )
        }
        if settings.normalizesAcceptEncoding, let value = AcceptEncoding.normalized(head.selectingFields),
            names(value, codingsOf: head.fields)
        {
            head.selectingFields[.acceptEncoding] = value
        }
        return head
    }

    /// Whether those who accept no more than the one spelling says can read the response. It may be
    /// encoded in what the spelling leaves out (`deflate`), because the request was sent as it
    /// came.
    private static func names(_ spelling: String, codingsOf fields: HTTPFields) -> Bool {
        let accepted = spelling.split(separator: ",").map { $0.filter { $0 != " " } }
        return fields[values: .contentEncoding].allSatisfy { line in
            line.split(separator: ",").allSatisfy { coding in
                let coding = coding.filter { $0 != " " && $0 != "\t" }.lowercased()
                return coding == "identity" || accepted.contains(coding == "x-gzip" ? "gzip" : coding)
            }
        }
    }
}

extension StoredFiling {
    /// What cannot be told of a stored response because what it depends on is not stored.
    package enum Unknown: String, Sendable, Hashable, Codable, CaseIterable {
        /// Other fields tell principals apart: in whose partition it belongs.
        case principal
        /// A parameter that was ignored counts: which value the request had.
        case parameters
        /// A field that was ignored counts: which value the request had.
        case fields
    }

    /// What cannot be told where these rules take the place of others.
    ///
    /// - Parameter old: the same response under those.
    package func unknowns(since old: StoredFiling) -> Set<Unknown> {
        var unknowns: Set<Unknown> = []
        let (before, after) = (old.settings.uncountedCredentials, settings.uncountedCredentials)
        let isShared = key.components.partition == .shared
        // What is stored for everybody was asked for without credentials, or with some that did not
        // count.
        if settings.principal != old.settings.principal || (isShared ? !before.isSubset(of: after) : before != after) {
            unknowns.insert(.principal)
        }
        let parameters = Set(old.settings.target.ignoredParameters)
        if !parameters.isSubset(of: settings.target.ignoredParameters) { unknowns.insert(.parameters) }
        let fields = old.settings.overrides.ignoredFields
        let counting = fields.subtracting(settings.overrides.ignoredFields)
        if head.fields[values: .vary].contains(where: { line in
            line.split(separator: ",").contains { name in
                counting.contains(name.filter { $0 != " " && $0 != "\t" }.lowercased())
            }
        }) {
            unknowns.insert(.fields)
        }
        return unknowns
    }
}

extension ExchangeSettings {
    /// Fields that say on whose behalf a request is made, and of which a rule says that they do
    /// not.
    fileprivate var uncountedCredentials: Set<String> {
        var names = ignoredFields.union(requestFields.removed)
        for field in requestFields.set { names.insert(field.name) }
        return Set(names.filter { CredentialPartition.hasCredentials([$0: ""]) }.map(\.canonicalName))
    }
}
