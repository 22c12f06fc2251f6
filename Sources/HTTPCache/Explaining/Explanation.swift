public import HTTPCacheSemantics

/// Why a request would be answered as it would: from the store or not, by which response, directive
/// or rule, and for how long that stays so.
///
/// Made by ``CacheEngine/explain(_:at:)`` with the very code that answers requests. It holds no
/// secrets: values of credentials, cookies and parameters whose names tell of a secret are replaced
/// by `REDACTED`. Every duration is in milliseconds, every instant in milliseconds since 1970, UTC.
///
/// ```swift
/// let explanation = try await engine.explain(request)
/// print(explanation.now.summary)
/// ```
public struct Explanation: Sendable, Hashable, Codable {
    /// The instant that it is about.
    public var at: Timestamp
    /// `private` or `shared`. RFC 9111 §1
    public var cache: String
    /// The mode in force for this request.
    public var mode: OfflineMode
    /// See ``Request-swift.struct``.
    public var request: Request
    /// Which rule decided what for this request and the selected response, in the order of the
    /// settings.
    public var rules: [RuleDecision]
    /// `nil` where no stored response may answer: by method, content or rule, or because the caller
    /// said so.
    public var key: Key?
    /// What is stored under the key, in the order in which it is looked at.
    public var variants: [Variant]
    /// Whether the store could be asked for all of them. One that fails has nothing to serve.
    public var isStoreReadable: Bool
    /// Why it is this variant, in words; `nil` where none was selected.
    public var selection: String?
    /// How fresh the selected variant is; `nil` where none was selected.
    public var freshness: Arithmetic?
    /// What the engine knows of the origin's state; `nil` where it knows nothing that counts.
    public var origin: OriginState?
    /// What would happen at ``at``, with an origin that answers when it is asked.
    public var now: Verdict
    /// What would happen at ``at`` if the origin could not be reached.
    public var unreachable: Verdict
    /// What would happen at ``at`` if the origin answered 503.
    public var failing: Verdict
    /// What would happen at ``at`` if the mode were ``OfflineMode/offline``.
    public var offline: Verdict
    /// When one of the four changes next and how, in order, for what is stored now.
    public var changes: [Change]
}

extension Explanation {
    /// The request, as people may see it.
    public struct Request: Sendable, Hashable, Codable {
        /// Its method.
        public var method: String
        /// The target as it came, redacted.
        public var target: String
        /// The target as it is sent, redacted; the same where no rule changes it.
        public var sentTarget: String
        /// The fields that counted: directives, conditions, ranges, credentials, and what `Vary`
        /// names.
        public var fields: [Field]
        /// What rules changed in it or left out of the key, in the order in which it was done.
        public var changes: [RequestChange]
    }

    /// One thing that rules did to the request before it was looked up or sent.
    public struct RequestChange: Sendable, Hashable, Codable {
        /// In words.
        public var summary: String
        /// The setting as it is written in a file: `ignore.parameters`.
        public var setting: String
        /// The rule that has it; `nil` where nobody knows.
        public var rule: String?
        /// Its line in the file.
        public var line: Int?
    }

    /// A field line.
    public struct Field: Sendable, Hashable, Codable {
        /// In the spelling in which it came.
        public var name: String
        /// Redacted.
        public var value: String
    }

    /// What the request is looked up by.
    public struct Key: Sendable, Hashable, Codable {
        /// `shared`; `principal` for one that was named, `credentials` for one told by an HMAC.
        public var partition: String
        /// Whether the shared partition is looked in after the principal's.
        public var looksInShared: Bool
        /// GET stands for HEAD too.
        public var method: String
        /// Redacted.
        public var target: String
        /// SHA-256 of the content in hexadecimal digits, where that is part of the key.
        public var content: String?
        /// The short name under which `cache-dump` shows it; `nil` where nobody asked the store for
        /// it.
        public var shortID: String?
    }

    /// What an engine that is running knows of an origin.
    public struct OriginState: Sendable, Hashable, Codable {
        /// It counts as away: the breaker is open.
        public var isOriginUnreachable: Bool
        /// How it failed for this key a moment ago: `unreachable`, or the status it sent; `nil`
        /// where it did not.
        public var recentFailure: String?
    }

    /// An instant from which something is otherwise.
    public struct Change: Sendable, Hashable, Codable {
        /// The first instant at which it is.
        public var at: Timestamp
        /// What ended, by the name of the directive or rule; `freshness` for the lifetime.
        public var ending: String
        /// What would happen then, where that is otherwise than before: see ``Explanation/now``.
        public var now: Verdict?
        /// See ``Explanation/unreachable``.
        public var unreachable: Verdict?
        /// See ``Explanation/failing``.
        public var failing: Verdict?
        /// See ``Explanation/offline``.
        public var offline: Verdict?
    }
}

extension OfflineMode: Codable {}
