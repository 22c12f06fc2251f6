package import HTTPCache
package import HTTPCacheSemantics

/// Explains how a request would be answered: from the store or not, with which response, because of
/// which directive or rule, and for how long.
///
/// `CacheEngine.explain(_:at:)` creates it with the code that answers requests. It contains no
/// secrets: values of credentials, cookies and parameters with secret names are replaced with
/// `REDACTED`. Durations are in milliseconds; instants are in milliseconds since 1970, UTC.
///
/// ```swift
/// let explanation = try await engine.explain(request)
/// print(explanation.now.summary)
/// ```
package struct Explanation: Sendable, Hashable, Codable {
    /// The instant that the explanation is for.
    package var at: Timestamp
    /// `private` or `shared`. RFC 9111 §1
    package var cache: String
    /// The mode that applies to this request.
    package var mode: OfflineMode
    /// See ``Request-swift.struct``.
    package var request: Request
    /// The rules that decided each setting for this request and the selected response, in the order
    /// of the settings.
    package var rules: [RuleDecision]
    /// The cache key; `nil` if no stored response may be used because of the method, the content, a
    /// rule or the caller.
    package var key: Key?
    /// The stored responses under the key, in the order of examination.
    package var variants: [Variant]
    /// Whether the store could be read completely. If it could not, only the responses that could
    /// be read may be served.
    package var isStoreReadable: Bool
    /// The reason that the variant was selected, in words; `nil` if no variant was selected.
    package var selection: String?
    /// The freshness of the selected variant; `nil` if no variant was selected.
    package var freshness: Arithmetic?
    /// The relevant state of the origin; `nil` if nothing relevant is known.
    package var origin: OriginState?
    /// The outcome at ``at`` if the origin responds to every request that is sent to it. A recent
    /// failure or an open breaker may prevent sending the request: see ``origin``.
    package var now: Verdict
    /// The outcome at ``at`` if the origin is unreachable.
    package var unreachable: Verdict
    /// The outcome at ``at`` if the origin responds with 503.
    package var failing: Verdict
    /// The outcome at ``at`` in ``OfflineMode/offline`` mode.
    package var offline: Verdict
    /// The instants at which one of the four outcomes changes, in order, based on the currently
    /// stored responses.
    package var changes: [Change]
}

extension Explanation {
    /// The explanation if no request can be sent to the origin.
    package var withoutOrigin: Explanation {
        var result = self
        result.now = unreachable
        for index in changes.indices { result.changes[index].now = changes[index].unreachable }
        return result
    }

    /// The request, without its secrets.
    package struct Request: Sendable, Hashable, Codable {
        /// The method.
        package var method: String
        /// The target as received, redacted.
        package var target: String
        /// The target to send, redacted. It is the same unless a rule changes it.
        package var sentTarget: String
        /// The relevant fields: directives, conditions, ranges, credentials, and the fields that
        /// `Vary` lists.
        package var fields: [Field]
        /// The changes that rules made to the request or its key, in order.
        package var changes: [RequestChange]
    }

    /// A change that a rule made to the request before it was looked up or sent.
    package struct RequestChange: Sendable, Hashable, Codable {
        /// The change in words.
        package var summary: String
        /// The setting's name in a file, such as `ignore.parameters`.
        package var setting: String
        /// The rule with the setting; `nil` if it is unknown.
        package var rule: String?
        /// The rule's line in the file.
        package var line: Int?
    }

    /// A field line.
    package struct Field: Sendable, Hashable, Codable {
        /// The name in its original spelling.
        package var name: String
        /// The redacted value.
        package var value: String
    }

    /// The key for looking up the request.
    package struct Key: Sendable, Hashable, Codable {
        /// The kind of partition: `common`, `principal` for a named principal, or `credentials` for
        /// a principal that only an HMAC identifies.
        package var partition: String
        /// Whether the lookup continues in the common partition after the principal's.
        package var looksInCommon: Bool
        /// The method; GET also represents HEAD.
        package var method: String
        /// The redacted target.
        package var target: String
        /// The SHA-256 of the content in hexadecimal, if the content is part of the key.
        package var content: String?
        /// The short ID that `cache-dump` shows for the key; `nil` if the store was not consulted.
        package var shortID: String?
    }

    /// The state of an origin in a running engine.
    package struct OriginState: Sendable, Hashable, Codable {
        /// Whether the origin's circuit breaker is open, so that the origin is treated as
        /// unreachable.
        package var isOriginUnreachable: Bool
        /// The recent failure for this key: `unreachable` or a status; `nil` if there was none.
        package var recentFailure: String?
    }

    /// An instant at which an outcome changes.
    package struct Change: Sendable, Hashable, Codable {
        /// The first instant with the new outcome.
        package var at: Timestamp
        /// The directive or rule whose time ends; `freshness` for the lifetime.
        package var ending: String
        /// The new outcome, if it changed: see ``Explanation/now``.
        package var now: Verdict?
        /// See ``Explanation/unreachable``.
        package var unreachable: Verdict?
        /// See ``Explanation/failing``.
        package var failing: Verdict?
        /// See ``Explanation/offline``.
        package var offline: Verdict?
    }
}
