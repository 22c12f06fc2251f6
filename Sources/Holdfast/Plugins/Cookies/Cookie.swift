import HTTPCacheSemantics

/// A cookie in a jar.
struct Cookie: Sendable, Hashable {
    var name: String
    var value: String
    /// The domain, in lower case, without a leading dot.
    var domain: String
    /// Whether the cookie is sent only to the host ``domain``. If `false`, it is also sent to hosts
    /// below that domain.
    var isHostOnly: Bool
    var path: String
    /// Whether the cookie is sent only to `https` origins.
    var isSecure: Bool
    /// When the cookie expires; `nil` if it lasts as long as the jar.
    var expiry: Timestamp?

    /// The maximum number of bytes of a name and its value together. RFC 6265bis §5.6
    static let limit = 4096
    /// The maximum number of bytes of an attribute's value. RFC 6265bis §5.6
    private static let attributeLimit = 1024
    /// The maximum lifetime, in seconds: 400 days. RFC 6265bis §5.6.1
    private static let longestLife: Int64 = 400 * 86_400

    /// Reads a `Set-Cookie` field. RFC 6265bis §5.6, §5.7
    ///
    /// - Returns: `nil` if the origin may not set the cookie, or if the cookie has no name, is too
    ///   long or contains a control character.
    init?(_ field: String, from origin: TargetURI, at now: Timestamp) {
        // Control characters are forbidden, except for the tab.
        guard !field.utf8.contains(where: { $0.isControl && $0 != 0x09 }) else { return nil }
        let parts = field.utf8.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
        guard let pair = parts.first, let equals = pair.firstIndex(of: UInt8(ascii: "=")) else { return nil }
        name = Self.trimmed(pair[..<equals])
        value = Self.trimmed(pair[pair.index(after: equals)...])
        guard !name.isEmpty, name.utf8.count + value.utf8.count <= Self.limit else { return nil }
        var attributes = Attributes()
        for part in parts.dropFirst() {
            let equals = part.firstIndex(of: UInt8(ascii: "="))
            let value = equals.map { Self.trimmed(part[part.index(after: $0)...]) } ?? ""
            guard value.utf8.count <= Self.attributeLimit else { continue }
            attributes.take(Self.trimmed(part[..<(equals ?? part.endIndex)]).lowercased(), value, at: now)
        }
        path = attributes.path ?? Self.defaultPath(of: origin)
        isSecure = attributes.isSecure
        let longest = now.adding(milliseconds: Self.longestLife * 1000)
        expiry = (attributes.age ?? attributes.expiry).map { min($0, longest) }
        (domain, isHostOnly) = (origin.host, true)
        if let domain = attributes.domain, domain != origin.host {
            // Domain=com would send the cookie to every host in com. Public suffixes that contain a
            // dot, such as co.uk, are not known here.
            guard domain.contains("."), CookieScope.host(origin.host, matches: domain) else { return nil }
            (self.domain, isHostOnly) = (domain, false)
        } else if attributes.domain != nil, origin.host.contains("."), CookieScope.mayHaveSubdomains(origin.host) {
            isHostOnly = false
        }
        guard !isSecure || origin.scheme == "https", mayHaveItsName(hasDomain: attributes.domain != nil) else {
            return nil
        }
    }

    /// Whether the cookie meets the requirements of its name's prefix. RFC 6265bis §4.1.3
    private func mayHaveItsName(hasDomain: Bool) -> Bool {
        let name = name.lowercased()
        if name.hasPrefix("__secure-") { return isSecure }
        if name.hasPrefix("__host-") { return isSecure && !hasDomain && path == "/" }
        return true
    }

    /// Returns the path of cookies without `Path`. RFC 6265bis §5.1.4
    private static func defaultPath(of origin: TargetURI) -> String {
        let end = origin.path.utf8.lastIndex(of: UInt8(ascii: "/")) ?? origin.path.startIndex
        return end == origin.path.startIndex ? "/" : String(origin.path[..<end])
    }

    private static func trimmed(_ bytes: Substring.UTF8View) -> String {
        String(Substring(bytes.trimmingWhitespace()))
    }

    /// Whether the cookie has expired.
    func hasExpired(at now: Timestamp) -> Bool { expiry.map { $0 <= now } ?? false }

    /// Whether the two cookies have the same identity, so that the later one replaces the earlier
    /// one. RFC 6265bis §5.7
    func replaces(_ other: Cookie) -> Bool {
        name == other.name && domain == other.domain && isHostOnly == other.isHostOnly && path == other.path
    }
}

extension Cookie {
    /// The attributes of a `Set-Cookie` field. If a name occurs several times, the last value is
    /// used. `HttpOnly` and `SameSite` concern only browsers.
    private struct Attributes {
        var domain: String?
        var path: String?
        var isSecure = false
        /// The expiry from `Expires`.
        var expiry: Timestamp?
        /// The expiry from `Max-Age`, which takes precedence.
        var age: Timestamp?

        mutating func take(_ name: String, _ value: String, at now: Timestamp) {
            switch name {
            case "secure": isSecure = true
            case "path": path = value.hasPrefix("/") ? value : nil
            case "domain":
                let domain = (value.hasPrefix(".") ? String(value.dropFirst()) : value).lowercased()
                self.domain = domain.isEmpty ? nil : domain
            case "expires": expiry = CookieDate.parse(value) ?? expiry
            case "max-age": age = Self.expiry(ofAge: value, at: now) ?? age
            default: break
            }
        }

        /// Returns the expiry for a `Max-Age` value. RFC 6265bis §5.6.2
        private static func expiry(ofAge value: String, at now: Timestamp) -> Timestamp? {
            let isNegative = value.hasPrefix("-")
            let digits = isNegative ? value.dropFirst() : value[...]
            guard !digits.isEmpty, digits.utf8.allSatisfy(\.isDigit) else { return nil }
            if isNegative || digits.allSatisfy({ $0 == "0" }) { return .distantPast }
            return now.adding(milliseconds: 1000 * min(Int64(digits) ?? Cookie.longestLife, Cookie.longestLife))
        }
    }
}
