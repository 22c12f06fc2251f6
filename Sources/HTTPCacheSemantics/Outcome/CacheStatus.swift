package import HTTPTypes
internal import RawStructuredFieldValues

/// A parsed `Cache-Status` field, which lists how each cache on the path handled the request. RFC
/// 9211 §2
///
/// The whole field is ignored if it is malformed or if a member is neither a token nor a string. A
/// parameter that is unknown or has the wrong type is skipped.
package struct CacheStatus: Sendable, Hashable {
    /// One cache's report.
    package struct Member: Sendable, Hashable {
        /// The cache's name.
        package var cache: String
        /// Whether `hit` is set. RFC 9211 §2.1
        package var isHit: Bool
        /// The `fwd` token, as received. RFC 9211 §2.2
        package var forward: String?
        /// The `fwd-status` parameter. RFC 9211 §2.3
        package var forwardStatus: Int?
        /// `ttl` in seconds; negative if stale. RFC 9211 §2.4
        package var timeToLive: Int64?
        /// Whether `stored` is set. RFC 9211 §2.5
        package var isStored: Bool
        /// Whether `collapsed` is set. RFC 9211 §2.6
        package var isCollapsed: Bool
        /// The `key` parameter. RFC 9211 §2.7
        package var key: String?
        /// The `detail` parameter: a token or a string. RFC 9211 §2.8
        package var detail: String?

        /// ``forward``, if it is one of the reasons in RFC 9211.
        package var forwardReason: CacheOutcome.ForwardReason? {
            forward.flatMap(CacheOutcome.ForwardReason.init(rawValue:))
        }
    }

    /// The members, beginning with the cache closest to the origin.
    package var members: [Member]

    /// Parses the field. ``members`` is empty if the field is absent or must be ignored.
    package init(_ fields: HTTPFields) {
        members = Self.parse(fields) ?? []
    }

    /// Returns `nil` if the field is absent or must be ignored.
    fileprivate static func parse(_ fields: HTTPFields) -> [Member]? {
        guard let list = StructuredLines.list(.cacheStatus, in: fields) else { return nil }
        var result: [Member] = []
        for entry in list {
            guard case .item(let item) = entry, let cache = text(item.rfc9651BareItem) else { return nil }
            let parameters = item.rfc9651Parameters
            result.append(
                Member(
                    cache: cache,
                    isHit: boolean(parameters["hit"]) ?? false,
                    forward: token(parameters["fwd"]),
                    forwardStatus: integer(parameters["fwd-status"]).flatMap {
                        (100...999).contains($0) ? Int($0) : nil
                    },
                    timeToLive: integer(parameters["ttl"]),
                    isStored: boolean(parameters["stored"]) ?? false,
                    isCollapsed: boolean(parameters["collapsed"]) ?? false,
                    key: string(parameters["key"]),
                    detail: text(parameters["detail"])
                )
            )
        }
        return result
    }

    private static func boolean(_ item: RFC9651BareItem?) -> Bool? {
        if case .bool(let value) = item { value } else { nil }
    }

    private static func integer(_ item: RFC9651BareItem?) -> Int64? {
        if case .integer(let value) = item { value } else { nil }
    }

    private static func token(_ item: RFC9651BareItem?) -> String? {
        if case .token(let value) = item { value } else { nil }
    }

    private static func string(_ item: RFC9651BareItem?) -> String? {
        if case .string(let value) = item { value } else { nil }
    }

    private static func text(_ item: RFC9651BareItem?) -> String? { token(item) ?? string(item) }
}

extension CacheOutcome {
    /// Returns the fields with this outcome as the last member of `Cache-Status`, after the members
    /// of caches closer to the origin. RFC 9211 §2
    ///
    /// The member gets its own line. A field that arrived malformed or empty is removed first,
    /// because recipients would ignore it together with the new member.
    package func appended(to fields: HTTPFields, cache name: String = "holdfast") -> HTTPFields {
        guard fields.count < FieldRules.maximumCount else { return fields }
        var result = fields
        result.dropUnreadableCacheStatus()
        result.append(HTTPField(name: .cacheStatus, value: cacheStatus(cache: name)))
        return result
    }
}

extension HTTPFields {
    /// Removes a `Cache-Status` that arrived malformed or empty, because recipients would ignore it
    /// together with the next member. RFC 9211 §2
    package mutating func dropUnreadableCacheStatus() {
        if contains(.cacheStatus), CacheStatus(self).members.isEmpty { self[fields: .cacheStatus] = [] }
    }
}
