package import HTTPTypes

extension FieldRules {
    /// Returns whether `Connection` cannot remove the request field. Protected fields are part of
    /// the key, authenticate the request, state its source or determine its meaning.
    ///
    /// Otherwise a client could remove its `Authorization` or `X-Forwarded-For` between the cache,
    /// which saw it, and the origin, which would then respond for another user. RFC 9110 §7.6.1
    /// forbids senders from listing end-to-end fields.
    static func isProtectedInRequests(_ canonicalName: String) -> Bool {
        switch canonicalName {
        case "authorization", "cookie", "host", "cache-control", "pragma", "range": true
        case "accept", "accept-encoding", "accept-language", "accept-charset", "origin", "expect", "max-forwards": true
        case "forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-forwarded-port",
            "x-real-ip":
            true
        default: canonicalName.hasPrefix("if-") || canonicalName.hasPrefix("content-")
        }
    }
}

extension CachePolicy {
    /// Returns the request fields to forward to the origin, in wire order, without hop-by-hop
    /// fields and fields that `Connection` lists. RFC 9110 §7.6.1
    ///
    /// `Connection` removes no field that is part of the key, authenticates or protects. These
    /// always stay, even if listed: `Authorization`, `Cookie`, `Host`, `Cache-Control`, `Pragma`,
    /// the `Accept` fields, `Origin`, `Expect`, `Max-Forwards`, `Forwarded`, `Via`,
    /// `X-Forwarded-…`, `X-Real-IP`, `Range`, `If-…` and `Content-…`.
    package static func forwardedFields(of request: HTTPFields) -> HTTPFields {
        forwardedFields(of: request) { _ in false }
    }

    /// Returns the request fields to forward, as ``forwardedFields(of:)`` does, without the fields
    /// that the gateway drops for its own reasons.
    ///
    /// - Parameter isDropped: returns whether the gateway drops the field with this lower-case
    ///   name.
    package static func forwardedFields(of request: HTTPFields, without isDropped: (String) -> Bool) -> HTTPFields {
        withoutHopByHop(request, dropping: isDropped, keeping: FieldRules.isProtectedInRequests)
    }

    /// Returns the response fields to forward to the client, in wire order, without hop-by-hop
    /// fields and fields that `Connection` lists. RFC 9110 §7.6.1
    ///
    /// Some fields are forwarded even if `Connection` lists them: `Set-Cookie`, and the fields on
    /// which caching or the meaning of the content depends. ``storedFields(of:)`` also keeps the
    /// latter, but not a `Set-Cookie` that `Connection` lists.
    package func forwardedResponseFields(of response: HTTPFields) -> HTTPFields {
        Self.withoutHopByHop(response, dropping: { _ in false }) { isProtected($0) || $0 == "set-cookie" }
    }

    private static func withoutHopByHop(
        _ fields: HTTPFields,
        dropping isDropped: (String) -> Bool,
        keeping isProtected: (String) -> Bool
    ) -> HTTPFields {
        let nominated = FieldNameList.nominated(in: fields)
        // Use a set for long lists, so that the time stays proportional to their length even if a
        // peer sends a thousand names.
        let many = nominated.count > 8 ? Set(nominated) : nil
        func ends(_ name: String) -> Bool {
            FieldRules.isHopByHop(name) || isDropped(name)
                || (!nominated.isEmpty && (many?.contains(name) ?? nominated.contains(name)) && !isProtected(name))
        }
        // Most messages have no such field, because they were already filtered or come from a
        // store.
        guard let first = fields.indices.first(where: { ends(fields[$0].name.canonicalName) }) else { return fields }
        var result = HTTPFields()
        // Reserve room for the fields that a gateway adds.
        result.reserveCapacity(fields.count + 4)
        for index in fields.indices where index < first || !ends(fields[index].name.canonicalName) {
            result.append(fields[index])
        }
        return result
    }
    /// The maximum number of parts in one response.
    ///
    /// RFC 9110 §14.2 lets a server refuse or merge many small or overlapping ranges.
    package static let maximumParts = 16
    /// The maximum length of a forwarded `Range`, in bytes, with all its lines combined.
    package static let maximumRangeLength = 1024

    /// Returns whether a request's `Range` may be forwarded: it may have any unit, but at most
    /// ``maximumParts`` members and ``maximumRangeLength`` bytes.
    ///
    /// An origin may allocate a buffer for each member, or respond with an error that caches keep.
    /// Without the field, a request is for the whole representation. RFC 9110 §14.2 allows every
    /// recipient to ignore `Range`.
    package static func forwardsRange(of request: HTTPFields) -> Bool {
        guard request.contains(.range) else { return true }
        var members = 0
        var length = 0
        for field in request where field.name == .range {
            field.withUnsafeBytesOfValue { bytes in
                length += bytes.count
                members += 1
                for byte in bytes where byte == UInt8(ascii: ",") { members += 1 }
            }
        }
        return members <= maximumParts && length <= maximumRangeLength
    }
}
