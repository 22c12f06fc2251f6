public import HTTPTypes
internal import RawStructuredFieldValues

/// A parsed `Cache-Status` field: how each cache on the path handled the request. RFC 9211 §2
///
/// A malformed field is ignored as a whole, and so is one with a member that is not a token or
/// string. An unknown parameter, or one of the wrong type, is skipped.
public struct CacheStatus: Sendable, Hashable {
    /// The report of one cache.
    public struct Member: Sendable, Hashable {
        /// The cache's name.
        public var cache: String
        /// `hit`. RFC 9211 §2.1
        public var isHit: Bool
        /// `fwd`, the token as received. RFC 9211 §2.2
        public var forward: String?
        /// `fwd-status`. RFC 9211 §2.3
        public var forwardStatus: Int?
        /// `ttl` in seconds; negative when stale. RFC 9211 §2.4
        public var timeToLive: Int64?
        /// `stored`. RFC 9211 §2.5
        public var isStored: Bool
        /// `collapsed`. RFC 9211 §2.6
        public var isCollapsed: Bool
        /// `key`. RFC 9211 §2.7
        public var key: String?
        /// `detail`: a token or a string. RFC 9211 §2.8
        public var detail: String?

        /// ``forward``, if it is one of the RFC's reasons.
        public var forwardReason: CacheOutcome.ForwardReason? {
            forward.flatMap(CacheOutcome.ForwardReason.init(rawValue:))
        }
    }

    /// The cache nearest to the origin first.
    public var members: [Member]

    /// Parses the field. There are no members if it is absent or must be ignored.
    public init(_ fields: HTTPFields) {
        members = Self.parse(fields) ?? []
    }

    /// `nil` if the field is absent or must be ignored.
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
    /// The fields with this outcome as the last member of `Cache-Status`, after those of the caches
    /// nearer to the origin. RFC 9211 §2
    ///
    /// The member gets its own line. A field that arrived malformed or empty is removed first,
    /// because recipients would ignore it together with our member.
    public func appended(to fields: HTTPFields, cache name: String = "holdfast") -> HTTPFields {
        guard fields.count < FieldRules.maximumCount else { return fields }
        var result = fields
        result.dropUnreadableCacheStatus()
        result.append(HTTPField(name: .cacheStatus, value: cacheStatus(cache: name)))
        return result
    }
}

extension HTTPFields {
    /// Removes a `Cache-Status` that arrived malformed or empty: recipients would ignore it
    /// together with one more member. RFC 9211 §2
    package mutating func dropUnreadableCacheStatus() {
        if contains(.cacheStatus), CacheStatus(self).members.isEmpty { self[fields: .cacheStatus] = [] }
    }
}
