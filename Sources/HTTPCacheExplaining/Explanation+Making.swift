import HTTPCache
import HTTPCacheSemantics
import HTTPTypes

extension Explanation.Request {
    /// Request fields that affect caching, whatever is in the store. RFC 9111 §5, RFC 9110 §13, §14
    private static let cachingNames: Set<String> = [
        "cache-control", "pragma", "range", "if-range", "if-match", "if-none-match", "if-modified-since",
        "if-unmodified-since",
    ]

    /// - Parameters:
    ///   - names: more fields to show, in lower case: those listed in `Vary`.
    ///   - decisions: the rules that decided each setting.
    init(_ prepared: PreparedRequest, including names: Set<String>, _ decisions: [RuleDecision]) {
        let head = prepared.presented.head
        let principal = prepared.settings?.principal?.field
        let secrets = prepared.presented.secretFields
        let shown = HTTPFields(
            head.headerFields.filter {
                let name = $0.name.canonicalName
                return Self.cachingNames.contains(name) || names.contains(name) || $0.name == principal
                    || CredentialPartition.isCredential($0) || secrets.contains($0.name)
            }
        )
        self.init(
            method: head.method.rawValue,
            target: prepared.shownTarget.redacted,
            sentTarget: prepared.shownSentTarget.redacted,
            fields: prepared.shown(shown),
            changes: prepared.changes.map { Explanation.RequestChange($0, decisions) }
        )
    }
}

extension PreparedRequest {
    /// Returns fields of the request, without secrets.
    func shown(_ fields: HTTPFields) -> [Explanation.Field] {
        redactedFields(fields).map { field in
            // The field that identifies principals is as secret as a credential.
            let isHidden = field.name == settings?.principal?.field || request.secretFields.contains(field.name)
            return Explanation.Field(name: field.name.rawName, value: isHidden ? Redaction.placeholder : field.value)
        }
    }
}

extension Explanation.Arithmetic {
    init(_ stored: StoredResponseHead, _ policy: CachePolicy, at now: Timestamp) {
        let freshness = policy.freshness(of: stored, at: now)
        let grounds = policy.freshnessGrounds(of: stored)
        let end = policy.freshUntil(stored)
        self.init(
            dateValue: grounds.date,
            ageValue: grounds.age,
            requestTime: stored.requestTime,
            responseTime: stored.responseTime,
            apparentAge: freshness.age.apparentAge,
            responseDelay: freshness.age.responseDelay,
            correctedAgeValue: freshness.age.correctedAgeValue,
            correctedInitialAge: freshness.age.correctedInitialAge,
            residentTime: freshness.age.residentTime,
            currentAge: freshness.age.milliseconds,
            freshnessLifetime: freshness.lifetime.milliseconds,
            lifetimeSource: freshness.lifetime.source.rawValue,
            lifetimeFields: grounds.lifetimeFields.map { Explanation.Field(name: $0.name.rawName, value: $0.value) },
            isFresh: freshness.isFresh,
            freshUntil: end < .distantFuture ? end : nil
        )
    }
}

extension Explanation.Change {
    var isAny: Bool { now != nil || unreachable != nil || failing != nil || offline != nil }
}
