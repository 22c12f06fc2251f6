package import HTTPCacheSemantics
package import HTTPTypes

/// A stored response after the current rules have been applied: its key, and the time for which it
/// can be used.
///
/// The code that prepares requests and reads responses creates it, so that no decision is
/// duplicated. Only the key and the selecting fields are known of the original request. The
/// partition does not change, because it is an HMAC of fields that are not stored.
package struct RuledResponse: Sendable {
    /// The time for which a response may be used after it becomes stale, in seconds, and the
    /// directive that forbids stale use.
    package struct Staleness: Sendable, Hashable, Codable {
        /// The directive that forbids stale use; `nil` if there is none.
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

    /// The known parts of the original request: the method and the target.
    package let request: HTTPRequest
    /// The key under which it is looked up.
    package let key: StoreKey
    /// The head in the form in which it would be stored under the rules, with the selecting fields
    /// that still apply.
    package let head: StoredResponseHead
    /// The freshness lifetime in milliseconds: see `CachePolicy.freshnessLifetime(of:)`.
    package let lifetime: Int64
    /// The value for the store's index: see ``ResponseDraft/freshUntil``.
    package let freshUntil: Timestamp
    /// The value for the store's index: see ``ResponseDraft/isUsableStale``.
    package let isUsableStale: Bool
    /// The limits on stale use.
    package let staleness: Staleness
    /// Whether no request can find the response, because rules make all such requests bypass the
    /// store or exclude the response's status.
    package let isPassedBy: Bool
    private let settings: ExchangeSettings
    /// The policy for the response, with the rules.
    let policy: CachePolicy
    /// The rules for requests with its method and target.
    let rules: RequestRules
    /// The response as it was stored.
    let stored: StoredResponse

    /// - Parameters:
    ///   - rules: the rules; `nil` for none.
    ///   - policy: the policy of the cache that stored the response.
    package init(_ stored: StoredResponse, rules: (any ExchangeRules)?, policy: CachePolicy) {
        self.stored = stored
        let parts = stored.key.components
        request = HTTPRequest(
            method: parts.method,
            scheme: parts.target.scheme,
            authority: parts.target.authority,
            path: parts.target.requestTarget
        )
        let found = rules?.rules(for: request) ?? .none
        self.rules = found
        settings = found.settings(for: stored.head.fields)
        let target = parts.target
            .rewritten(dropping: found.dropped, sorting: found.settings.target.sortsParameters)
            .ignoring(found.ignored)
        key = StoreKey(partition: parts.partition, method: parts.method, target: target, content: parts.content)
        head = Self.head(stored.head, settings)
        var policy = policy
        if found.hasOverrides { policy.overriding = found }
        let isOfJob = if case .job = parts.partition { true } else { false }
        if isOfJob || (found.settings.principal != nil && parts.partition != .common) { policy.kind = .private }
        self.policy = policy
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
            || (!settings.admitsCredentials && parts.partition != .common && !isOfJob)
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

    /// Returns whether a client that accepts only the codings in a normalized value can read the
    /// response. The response may have a coding that the normalized value omits (`deflate`),
    /// because the original request was sent unchanged.
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
    /// A property of a stored response that cannot be determined, because the necessary data is not
    /// stored.
    package enum Unknown: String, Sendable, Hashable, Codable, CaseIterable {
        /// The partition, because other fields now identify principals.
        case principal
        /// The value of a parameter that was ignored and is no longer ignored.
        case parameters
        /// The value of a field that was ignored and is no longer ignored.
        case fields
        /// The content, of which only a digest is stored, because it is now keyed in another form.
        case content
    }

    /// Returns the properties that cannot be determined if these rules replace the old rules.
    ///
    /// - Parameter old: the same response under the old rules.
    package func unknowns(since old: RuledResponse) -> Set<Unknown> {
        var unknowns: Set<Unknown> = []
        let (before, after) = (old.settings.uncountedCredentials, settings.uncountedCredentials)
        let isCommon = key.components.partition == .common
        // The request for a common response had no credentials, or credentials that were ignored.
        // A request for a common response may have had cookies that were removed.
        let sameCookies = settings.cookies == old.settings.cookies || (isCommon && old.settings.cookies == nil)
        if settings.principal != old.settings.principal || !sameCookies
            || (isCommon ? !before.isSubset(of: after) : before != after)
        {
            unknowns.insert(.principal)
        }
        let parameters = Set(old.settings.target.ignoredParameters)
        if !parameters.isSubset(of: settings.target.ignoredParameters) { unknowns.insert(.parameters) }
        if settings.listed != old.settings.listed { unknowns.insert(.fields) }
        let (form, oldForm) = (settings.contentForm ?? .any, old.settings.contentForm ?? .any)
        if request.method == .post, !form.hasDigest(of: oldForm) { unknowns.insert(.content) }
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
