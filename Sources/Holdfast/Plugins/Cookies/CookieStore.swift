import HTTPCacheSemantics

/// The cookies of a jar.
struct CookieStore: Sendable {
    /// The maximum number of cookies for one domain. RFC 6265bis §6.1
    static let domainLimit = 50
    /// The maximum number of cookies in total. RFC 6265bis §6.1
    static let limit = 3000

    private struct Entry {
        var cookie: Cookie
        /// The order of arrival. A cookie that replaces another keeps that cookie's number.
        var number: UInt64
        var lastUse: UInt64
    }

    /// The cookies by domain.
    private var entries: [String: [Entry]] = [:]
    private var lastNumber: UInt64 = 0
    private(set) var count = 0

    /// Stores or replaces a cookie, or removes it if it has expired.
    ///
    /// - Parameter origin: the origin that sets the cookie.
    mutating func take(_ cookie: Cookie, from origin: TargetURI, at now: Timestamp) {
        if origin.scheme != "https", hasSecureCookie(that: cookie, shadows: origin, at: now) { return }
        var others = entries[cookie.domain] ?? []
        let before = others.count
        let index = others.firstIndex { $0.cookie.replaces(cookie) }
        let former = index.map { others.remove(at: $0) }
        if !cookie.hasExpired(at: now) {
            lastNumber += 1
            others.append(Entry(cookie: cookie, number: former?.number ?? lastNumber, lastUse: lastNumber))
            if others.count > Self.domainLimit { Self.evict(from: &others, at: now) }
        }
        entries[cookie.domain] = others.isEmpty ? nil : others
        count += others.count - before
        if count > Self.limit { evict(at: now) }
    }

    /// Returns the `Cookie` field for a request; `nil` if there are no cookies. RFC 6265bis §5.8.3
    mutating func field(for target: TargetURI, at now: Timestamp) -> String? {
        var found: [Entry] = []
        lastNumber += 1
        for domain in CookieScope.domains(above: target.host) {
            let domain = String(domain)
            guard var others = entries[domain] else { continue }
            for index in others.indices where others[index].cookie.isSent(to: target, at: now) {
                others[index].lastUse = lastNumber
                found.append(others[index])
            }
            entries[domain] = others
        }
        guard !found.isEmpty else { return nil }
        // Longer paths come first. Cookies with equally long paths are in order of arrival.
        found.sort { one, other in
            let (first, second) = (one.cookie.path.utf8.count, other.cookie.path.utf8.count)
            return first == second ? one.number < other.number : first > second
        }
        return found.map { "\($0.cookie.name)=\($0.cookie.value)" }.joined(separator: "; ")
    }

    /// Returns whether a cookie from an origin without TLS would hide a secure cookie. RFC 6265bis
    /// §5.7
    private func hasSecureCookie(that cookie: Cookie, shadows origin: TargetURI, at now: Timestamp) -> Bool {
        // Look for a secure cookie of any domain that contains the new cookie's domain or is
        // contained in it.
        entries.values.joined().contains { entry in
            let other = entry.cookie
            return other.isSecure && other.name == cookie.name && !other.hasExpired(at: now)
                && (CookieScope.host(other.domain, matches: cookie.domain)
                    || CookieScope.host(cookie.domain, matches: other.domain))
                && CookieScope.path(cookie.path, matches: other.path)
        }
    }

    /// Removes expired cookies or, if there are none, the least recently used cookie.
    private static func evict(from entries: inout [Entry], at now: Timestamp) {
        let before = entries.count
        entries.removeAll { $0.cookie.hasExpired(at: now) }
        guard entries.count == before, let oldest = entries.min(by: { $0.lastUse < $1.lastUse }) else { return }
        entries.removeAll { $0.number == oldest.number }
    }

    private mutating func evict(at now: Timestamp) {
        var all = entries.values.flatMap { $0 }
        Self.evict(from: &all, at: now)
        entries = Dictionary(grouping: all) { $0.cookie.domain }
        count = all.count
    }
}

extension Cookie {
    fileprivate func isSent(to target: TargetURI, at now: Timestamp) -> Bool {
        (isHostOnly ? target.host == domain : CookieScope.host(target.host, matches: domain))
            && CookieScope.path(target.path, matches: path) && (!isSecure || target.scheme == "https")
            && !hasExpired(at: now)
    }
}
