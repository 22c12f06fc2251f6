import HTTPCacheSemantics
public import HTTPTypes

/// A rule for requests with certain cookies, fields or query parameters. It can only restrict what
/// the rules for the target allow.
///
/// Storage, keys and freshness never depend on such a condition, because refreshes, forecasts and
/// comparisons of rules know only the target of a stored response.
public struct RequestRestriction: Sendable, Hashable {
    /// Conditions on a request. It must meet all kinds that are not empty.
    public struct Conditions: Sendable, Hashable {
        /// Cookies by name, with their values; an empty list matches any value. The request must
        /// have one of them. A trailing `*` in a name matches any ending.
        ///
        /// A `Cookie` field that does not have the strict form of RFC 6265 meets every condition,
        /// because the origin may find the cookie in it.
        public var cookies: [String: [String]]
        /// Fields by name, with their values; an empty list matches any value. The request must
        /// have one of them.
        public var fields: [HTTPField.Name: [String]]
        /// Query parameters by decoded name, with their decoded values; an empty list matches any
        /// value. The request must have one of them.
        public var query: [String: [String]]

        /// Creates conditions. Without arguments, there are none.
        public init(
            cookies: [String: [String]] = [:],
            fields: [HTTPField.Name: [String]] = [:],
            query: [String: [String]] = [:]
        ) {
            self.cookies = cookies
            self.fields = fields
            self.query = query
        }

        /// Whether there are no conditions.
        public var isEmpty: Bool { cookies.isEmpty && fields.isEmpty && query.isEmpty }

        /// Returns whether a request meets the conditions.
        public func hold(for request: HTTPRequest) -> Bool {
            holdForCookies(of: request.headerFields) && holdForFields(request.headerFields) && holdForQuery(of: request)
        }

        private func holdForCookies(of fields: HTTPFields) -> Bool {
            if cookies.isEmpty { return true }
            guard let present = RequestCookies(fields) else { return true }
            return cookies.contains { pattern, values in
                let names = CookieNames([pattern])
                return present.cookies.contains {
                    names.contains($0.name) && (values.isEmpty || values.contains($0.value))
                }
            }
        }

        private func holdForFields(_ present: HTTPFields) -> Bool {
            fields.isEmpty
                || fields.contains { name, values in
                    present[values: name].contains { values.isEmpty || values.contains($0) }
                }
        }

        private func holdForQuery(of request: HTTPRequest) -> Bool {
            if query.isEmpty { return true }
            guard let target = TargetURI(request: request) else { return false }
            return query.contains { name, values in
                target.parameterValues(named: name).contains { values.isEmpty || values.contains($0) }
            }
        }
    }

    /// The conditions on the request.
    public var conditions: Conditions
    /// Whether requests bypass the store. `false` changes nothing.
    public var isBypassed: Bool
    /// How much of the network may be used, if that is less than other rules allow.
    public var mode: OfflineMode?

    /// Creates a restriction.
    public init(_ conditions: Conditions, isBypassed: Bool = false, mode: OfflineMode? = nil) {
        self.conditions = conditions
        self.isBypassed = isBypassed
        self.mode = mode
    }

    func apply(to settings: inout ExchangeSettings) {
        if isBypassed { settings.isBypassed = true }
        if let mode { settings.mode = OfflineMode.leastNetwork(mode, settings.mode) }
    }
}
