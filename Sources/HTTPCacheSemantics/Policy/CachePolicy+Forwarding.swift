public import HTTPTypes

extension FieldRules {
    /// Request fields that `Connection` cannot remove: those in the key, those that authenticate,
    /// those that state the source of the request, and those that its meaning depends on.
    ///
    /// Otherwise a client could make its `Authorization` or `X-Forwarded-For` vanish between the
    /// cache, which saw it, and the origin, which then responds for another user. RFC 9110 §7.6.1
    /// forbids senders to name end-to-end fields.
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
    /// The request's fields that are forwarded to the origin, in wire order: all but the hop-by-hop
    /// ones and those that `Connection` nominates. RFC 9110 §7.6.1
    ///
    /// `Connection` removes no field that is in the key, authenticates or protects. Whatever it
    /// names, these stay: `Authorization`, `Cookie`, `Host`, `Cache-Control`, `Pragma`, the
    /// `Accept` fields, `Origin`, `Expect`, `Max-Forwards`, `Forwarded`, `Via`, `X-Forwarded-…`,
    /// `X-Real-IP`, `Range`, `If-…` and `Content-…`.
    public static func forwardedFields(of request: HTTPFields) -> HTTPFields {
        forwardedFields(of: request) { _ in false }
    }

    /// The same without fields that a gateway drops for reasons of its own.
    ///
    /// - Parameter isDropped: whether the gateway drops the field with a name, given in lower case.
    package static func forwardedFields(of request: HTTPFields, without isDropped: (String) -> Bool) -> HTTPFields {
        withoutHopByHop(request, dropping: isDropped, keeping: FieldRules.isProtectedInRequests)
    }

    /// The response's fields that are forwarded to the client, in wire order: all but the
    /// hop-by-hop ones and those that `Connection` nominates. RFC 9110 §7.6.1
    ///
    /// `Connection` removes no `Set-Cookie`, and no field that caching or the content's meaning
    /// depends on (``storedFields(of:)`` keeps the same fields).
    public func forwardedResponseFields(of response: HTTPFields) -> HTTPFields {
        Self.withoutHopByHop(response, dropping: { _ in false }) { isProtected($0) || $0 == "set-cookie" }
    }

    private static func withoutHopByHop(
        _ fields: HTTPFields,
        dropping isDropped: (String) -> Bool,
        keeping isProtected: (String) -> Bool
    ) -> HTTPFields {
        let nominated = FieldNameList.nominated(in: fields)
        // A set if there are many, so that a thousand names from a peer cost no more than their
        // bytes.
        let many = nominated.count > 8 ? Set(nominated) : nil
        func ends(_ name: String) -> Bool {
            FieldRules.isHopByHop(name) || isDropped(name)
                || (!nominated.isEmpty && (many?.contains(name) ?? nominated.contains(name)) && !isProtected(name))
        }
        // Most messages have no such field: they were here before, or come from a store.
        guard let first = fields.indices.first(where: { ends(fields[$0].name.canonicalName) }) else { return fields }
        var result = HTTPFields()
        // Room for the fields that a gateway adds.
        result.reserveCapacity(fields.count + 4)
        for index in fields.indices where index < first || !ends(fields[index].name.canonicalName) {
            result.append(fields[index])
        }
        return result
    }
}
