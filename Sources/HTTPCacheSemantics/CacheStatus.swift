public import HTTPTypes
internal import RawStructuredFieldValues

/// `Cache-Status`, read: how each cache on the way dealt with the request. RFC 9211 §2
///
/// A field that is malformed, or whose members are no tokens or strings, is ignored as a whole; a
/// parameter that is unknown or of another type is passed over.
public struct CacheStatus: Sendable, Hashable {
    /// What one cache says.
    public struct Member: Sendable, Hashable {
        /// The cache's name.
        public var cache: String
        /// `hit`. RFC 9211 §2.1
        public var isHit: Bool
        /// `fwd`, the token as it came. RFC 9211 §2.2
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

        /// ``forward`` where it is one of the RFC's words.
        public var forwardReason: CacheOutcome.ForwardReason? {
            forward.flatMap(CacheOutcome.ForwardReason.init(rawValue:))
        }
    }

    /// The cache nearest to the origin first.
    public var members: [Member]

    /// The field's members; none where it is absent or to be ignored.
    public init(_ fields: HTTPFields) {
        members = Self.parse(fields) ?? []
    }

    /// `nil` where the field is absent or to be ignored.
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
    /// The fields with this outcome as the last member of `Cache-Status`, behind those of the
    /// caches nearer to the origin. RFC 9211 §2
    ///
    /// It gets a line of its own. A field that came malformed or empty is taken away first, because
    /// together with it ours would be ignored by everybody.
    public func appended(to fields: HTTPFields, cache name: String = "holdfast") -> HTTPFields {
        guard fields.count < FieldRules.maximumCount else { return fields }
        var result = fields
        result.dropUnreadableCacheStatus()
        result.append(HTTPField(name: .cacheStatus, value: cacheStatus(cache: name)))
        return result
    }
}

extension HTTPFields {
    /// Takes away a `Cache-Status` that came malformed or empty: together with one more member it
    /// would be ignored by everybody. RFC 9211 §2
    package mutating func dropUnreadableCacheStatus() {
        if contains(.cacheStatus), CacheStatus(self).members.isEmpty { self[fields: .cacheStatus] = [] }
    }
}
