package import HTTPCacheSemantics
package import HTTPTypes

/// A stored response with the present rules applied: its key, and how long it can be used.
///
/// The code that prepares requests and reads responses makes it, so that nothing is decided twice.
/// Of the request that brought the response only its key and selecting fields are known. The
/// partition stays as it was, because it is an HMAC of fields that are not stored.
package struct RuledResponse: Sendable {
    /// How long after its freshness a response may be used, in seconds, and the directive that
    /// forbids it.
    package struct Staleness: Sendable, Hashable, Codable {
        /// The directive that forbids stale use; `nil` if none does.
        package var forbiddenBy: String?
        /// See ``PolicyOverrides/staleWhileRevalidate``.
        package var whileRevalidate: Int64?
        /// See ``PolicyOverrides/maximumStalenessUnreachable``.
        package var unreachable: Int64?
        /// See ``PolicyOverrides/staleIfError``.
        package var onError: Int64?
        /// See ``PolicyOverrides/maximumStalenessOffline``.
        package var offline: Int64?
    }

    /// The request for it, as far as it is known: method and target.
    package let request: HTTPRequest
    /// The key under which it is looked up.
    package let key: CacheKey
    /// The head as it would be stored under the rules: with the selecting fields that still apply.
    package let head: StoredResponseHead
    /// See `CachePolicy.freshnessLifetime(of:)`; milliseconds.
    package let lifetime: Int64
    /// The value for the store's index: see ``ResponseDraft/freshUntil``.
    package let freshUntil: Timestamp
    /// The value for the store's index: see ``ResponseDraft/isUsableStale``.
    package let isUsableStale: Bool
    /// The limits on stale use.
    package let staleness: Staleness
    /// Whether no request looks it up: rules make all of them bypass the store, or exclude its
    /// status.
    package let isPassedBy: Bool
    private let settings: ExchangeSettings

    /// - Parameters:
    ///   - rules: `nil` for none.
    ///   - policy: of the cache that stored it.
    ///   - usesNoVarySearch: see ``EngineOptions/usesNoVarySearch``.
    /// - Returns: `nil` for an engine's own record, which is no response to a request.
    package init?(
        _ stored: StoredResponse,
        rules: (any ExchangeRules)?,
        policy: CachePolicy,
        usesNoVarySearch: Bool = false
    ) {
        let parts = stored.key.components
        guard parts.method != NoVarySearchRules.method else { return nil }
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
        if found.settings.principal != nil, parts.partition != .common { policy.kind = .private }
        lifetime = policy.freshnessLifetime(of: head).milliseconds
        freshUntil = policy.freshUntil(head)
        isUsableStale = policy.isUsableStale(head)
        var staleness = Staleness()
        if case .forbidden(let directive) = policy.staleUse(of: head) { staleness.forbiddenBy = directive }
        let overrides = settings.overrides
        staleness.whileRevalidate = overrides.staleWhileRevalidate
        staleness.unreachable = overrides.maximumStalenessUnreachable
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

    /// Whether a client that accepts only the codings of a normalized spelling can read the
    /// response. The response may have a coding that the spelling leaves out (`deflate`), because
    /// the original request was sent unchanged.
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

extension RuledResponse {
    /// A property that cannot be decided for a stored response, because the data for it is not
    /// stored.
    package enum Unknown: String, Sendable, Hashable, Codable, CaseIterable {
        /// The partition: other fields identify principals now.
        case principal
        /// The value of a parameter that was ignored and now matters.
        case parameters
        /// The value of a field that was ignored and now matters.
        case fields
    }

    /// The properties that cannot be decided if these rules replace others.
    ///
    /// - Parameter old: the same response under the old rules.
    package func unknowns(since old: RuledResponse) -> Set<Unknown> {
        var unknowns: Set<Unknown> = []
        let (before, after) = (old.settings.uncountedCredentials, settings.uncountedCredentials)
        let isCommon = key.components.partition == .common
        // A common response was requested without credentials, or with credentials that were
        // ignored.
        if settings.principal != old.settings.principal || (isCommon ? !before.isSubset(of: after) : before != after) {
            unknowns.insert(.principal)
        }
        let parameters = Set(old.settings.target.ignoredParameters)
        if !parameters.isSubset(of: settings.target.ignoredParameters) { unknowns.insert(.parameters) }
        let fields = old.settings.overrides.ignoredFields
        let nowRelevant = fields.subtracting(settings.overrides.ignoredFields)
        if head.fields[values: .vary].contains(where: { line in
            line.split(separator: ",").contains { name in
                nowRelevant.contains(name.filter { $0 != " " && $0 != "\t" }.lowercased())
            }
        }) {
            unknowns.insert(.fields)
        }
        return unknowns
    }
}

extension ExchangeSettings {
    /// The credential fields that a rule ignores, removes or sets.
    fileprivate var uncountedCredentials: Set<String> {
        var names = ignoredFields.union(requestFields.removed)
        for field in requestFields.set { names.insert(field.name) }
        return Set(names.filter { CredentialPartition.hasCredentials([$0: ""]) }.map(\.canonicalName))
    }
}
