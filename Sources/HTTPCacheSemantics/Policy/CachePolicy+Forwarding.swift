public import HTTPTypes

extension FieldRules {
    /// Request fields that `Connection` cannot take away: what is keyed, what authenticates, what
    /// says where a request came from, and what the meaning of the request depends on.
    ///
    /// Otherwise a client could have its `Authorization` or `X-Forwarded-For` vanish between the
    /// cache, which saw it, and the origin, which then answers for somebody else. RFC 9110 §7.6.1
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
    /// The request's fields that go on to the origin, in wire order: without the hop-by-hop ones
    /// and those that `Connection` nominates. RFC 9110 §7.6.1
    ///
    /// `Connection` takes away nothing that is keyed, authenticates or protects: `Authorization`,
    /// `Cookie`, `Host`, `Cache-Control`, `Pragma`, the `Accept` fields, `Origin`, `Expect`,
    /// `Max-Forwards`, `Forwarded`, `Via`, `X-Forwarded-…`, `X-Real-IP`, `Range`, `If-…` and
    /// `Content-…` stay, whatever it names.
    public static func forwardedFields(of request: HTTPFields) -> HTTPFields {
        forwardedFields(of: request) { _ in false }
    }

    /// The same without those that end at a gateway for reasons of its own.
    ///
    /// - Parameter isDropped: says so of a name in lower case.
    package static func forwardedFields(of request: HTTPFields, without isDropped: (String) -> Bool) -> HTTPFields {
        withoutHopByHop(request, dropping: isDropped, keeping: FieldRules.isProtectedInRequests)
    }

    /// The response's fields that go on to the client, in wire order: without the hop-by-hop ones
    /// and those that `Connection` nominates. RFC 9110 §7.6.1
    ///
    /// `Connection` takes away nothing that caching or the content's meaning depends on
    /// (``storedFields(of:)`` keeps the same), and no `Set-Cookie`.
    public func forwardedResponseFields(of response: HTTPFields) -> HTTPFields {
        Self.withoutHopByHop(response, dropping: { _ in false }) { isProtected($0) || $0 == "set-cookie" }
    }

    private static func withoutHopByHop(
        _ fields: HTTPFields,
        dropping isDropped: (String) -> Bool,
        keeping isProtected: (String) -> Bool
    ) -> HTTPFields {
        let nominated = FieldNameList.nominated(in: fields)
        // Where there are many, a set, so that a peer's thousand names cost no more than their
        // bytes.
        let many = nominated.count > 8 ? Set(nominated) : nil
        func ends(_ name: String) -> Bool {
            FieldRules.isHopByHop(name) || isDropped(name)
                || (!nominated.isEmpty && (many?.contains(name) ?? nominated.contains(name)) && !isProtected(name))
        }
        // Most of what comes here has been here before, or has come from a store: then it stays
        // what it is.
        guard let first = fields.indices.first(where: { ends(fields[$0].name.canonicalName) }) else { return fields }
        var result = HTTPFields()
        // Room for those that a gateway adds.
        result.reserveCapacity(fields.count + 4)
        for index in fields.indices where index < first || !ends(fields[index].name.canonicalName) {
            result.append(fields[index])
        }
        return result
    }
}
