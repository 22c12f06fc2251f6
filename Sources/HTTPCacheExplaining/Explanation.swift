public import HTTPCache
public import HTTPCacheSemantics

/// The explanation of how a request would be answered: from the store or not, by which response,
/// directive or rule, and for how long.
///
/// `CacheEngine.explain(_:at:)` makes it with the code that answers requests. It holds no
/// secrets: values of credentials, cookies and parameters with secret names are replaced by
/// `REDACTED`. Durations are in milliseconds, instants in milliseconds since 1970, UTC.
///
/// ```swift
/// let explanation = try await engine.explain(request)
/// print(explanation.now.summary)
/// ```
public struct Explanation: Sendable, Hashable, Codable {
    /// The instant that is explained.
    public var at: Timestamp
    /// `private` or `shared`. RFC 9111 §1
    public var cache: String
    /// The mode that applies to this request.
    public var mode: OfflineMode
    /// See ``Request-swift.struct``.
    public var request: Request
    /// The rules that decided each setting for this request and the selected response, in the order
    /// of the settings.
    public var rules: [RuleDecision]
    /// `nil` if no stored response may answer: because of method, content or a rule, or because the
    /// caller asked for none.
    public var key: Key?
    /// The stored responses under the key, in the order in which they are examined.
    public var variants: [Variant]
    /// Whether the store returned all of them. A store that fails has nothing to serve.
    public var isStoreReadable: Bool
    /// Why this variant was selected, in words; `nil` if none was.
    public var selection: String?
    /// How fresh the selected variant is; `nil` if none was selected.
    public var freshness: Arithmetic?
    /// The relevant state of the origin; `nil` if nothing relevant is known.
    public var origin: OriginState?
    /// The outcome at ``at``, with an origin that responds when it is asked.
    public var now: Verdict
    /// The outcome at ``at`` if the origin could not be reached.
    public var unreachable: Verdict
    /// The outcome at ``at`` if the origin responded with 503.
    public var failing: Verdict
    /// The outcome at ``at`` if the mode were ``OfflineMode/offline``.
    public var offline: Verdict
    /// The instants at which one of the four outcomes changes, in order, for the responses stored
    /// now.
    public var changes: [Change]
}

extension Explanation {
    /// The request, without its secrets.
    public struct Request: Sendable, Hashable, Codable {
        /// Its method.
        public var method: String
        /// The target as it came, redacted.
        public var target: String
        /// The target as it is sent, redacted; the same where no rule changes it.
        public var sentTarget: String
        /// The fields that matter: directives, conditions, ranges, credentials, and those that
        /// `Vary` names.
        public var fields: [Field]
        /// The changes that rules made to it or to its key, in order.
        public var changes: [RequestChange]
    }

    /// One change that rules made to the request before it was looked up or sent.
    public struct RequestChange: Sendable, Hashable, Codable {
        /// In words.
        public var summary: String
        /// The setting as it is written in a file: `ignore.parameters`.
        public var setting: String
        /// The rule with the setting; `nil` if it is not known.
        public var rule: String?
        /// Its line in the file.
        public var line: Int?
    }

    /// A field line.
    public struct Field: Sendable, Hashable, Codable {
        /// In its original spelling.
        public var name: String
        /// Redacted.
        public var value: String
    }

    /// The key under which the request is looked up.
    public struct Key: Sendable, Hashable, Codable {
        /// `common`; `principal` for a named principal, `credentials` for one that only an HMAC
        /// identifies.
        public var partition: String
        /// Whether the common partition is looked in after the principal's.
        public var looksInCommon: Bool
        /// GET stands for HEAD too.
        public var method: String
        /// Redacted.
        public var target: String
        /// SHA-256 of the content in hexadecimal digits, if the content is part of the key.
        public var content: String?
        /// The short name under which `cache-dump` shows it; `nil` if the store was not asked for
        /// it.
        public var shortID: String?
    }

    /// The state of an origin as a running engine knows it.
    public struct OriginState: Sendable, Hashable, Codable {
        /// Whether its circuit breaker is open, so that it is treated as unreachable.
        public var isOriginUnreachable: Bool
        /// How it failed for this key a moment ago: `unreachable`, or its status; `nil` if it did
        /// not fail.
        public var recentFailure: String?
    }

    /// An instant at which an outcome changes.
    public struct Change: Sendable, Hashable, Codable {
        /// The first instant of the new outcome.
        public var at: Timestamp
        /// The directive or rule that ends; `freshness` for the lifetime.
        public var ending: String
        /// The new outcome, if it differs from the one before: see ``Explanation/now``.
        public var now: Verdict?
        /// See ``Explanation/unreachable``.
        public var unreachable: Verdict?
        /// See ``Explanation/failing``.
        public var failing: Verdict?
        /// See ``Explanation/offline``.
        public var offline: Verdict?
    }
}
