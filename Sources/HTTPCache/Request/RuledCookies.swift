import HTTPCacheSemantics
package import HTTPTypes

/// The cookies of a request, as a rule divides them. The only place that decides which cookies are
/// keyed and which are sent.
struct RuledCookies: Sendable, Hashable {
    /// The cookies that stay in the request. They count as credentials.
    let kept: RequestCookies
    /// The cookies with listed values, which select one of several responses.
    let listed: RequestCookies
    /// The cookies whose values are not listed. They are never sent.
    let unlisted: RequestCookies
    /// The cookies that no rule names.
    let others: RequestCookies
    /// Whether ``others`` are sent, although they are not in the key.
    let sendsOthers: Bool
    private let all: RequestCookies

    /// Divides the cookies of a request.
    ///
    /// - Returns: `nil` if no rule divides them, or if the `Cookie` field cannot be read. Then the
    ///   request stays as it is.
    init?(_ fields: HTTPFields, _ settings: ExchangeSettings) {
        let (rule, values) = (settings.cookies, settings.listed.cookies)
        guard rule != nil || !values.isEmpty, fields.contains(.cookie), let all = RequestCookies(fields) else {
            return nil
        }
        self.all = all
        let isKept = { (cookie: RequestCookies.Cookie) in
            rule.map { $0.kept.contains(cookie.name) } ?? (values[cookie.name] == nil)
        }
        kept = all.filter(isKept)
        listed = all.filter { !isKept($0) && values[$0.name]?.contains($0.value) == true }
        unlisted = all.filter { !isKept($0) && values[$0.name]?.contains($0.value) == false }
        others = all.filter { !isKept($0) && values[$0.name] == nil }
        sendsOthers = rule?.forwardsAll == true && !others.isEmpty
    }

    /// Leaves only the kept cookies in a request.
    func keep(in fields: inout HTTPFields) { fields.setCookie(kept.isEmpty ? nil : kept.written) }

    /// Returns the value of the `Cookie` field to send; `nil` if it is the one of the request that
    /// is keyed.
    ///
    /// - Parameter isForOne: whether the response is for this request only, so that all cookies may
    ///   be sent.
    func sent(isForOne: Bool) -> String? {
        let sendsOthers = isForOne && sendsOthers
        guard sendsOthers || !listed.isEmpty else { return nil }
        let excluded = Set((unlisted.cookies + (sendsOthers ? [] : others.cookies)).map(\.name))
        return all.filter { !excluded.contains($0.name) }.written
    }
}

extension ListedValues {
    /// Removes fields whose values are not listed.
    func removeUnlisted(from fields: inout HTTPFields) {
        for (name, values) in self.fields {
            let lines = fields[fields: name]
            guard let line = lines.first, lines.count > 1 || !values.contains(line.value) else { continue }
            fields[fields: name] = []
        }
    }

    /// Sets the fields that select variants by the listed values in a request, whatever the client
    /// sent in fields with these names.
    ///
    /// - Parameters:
    ///   - selecting: the fields to change.
    ///   - cookies: the request's cookies.
    ///   - request: the request's fields, without values that are not listed.
    func select(in selecting: inout HTTPFields, by cookies: RuledCookies?, _ request: HTTPFields) {
        let named = fields.keys.compactMap { name in
            request[name].map { RequestCookies.Cookie(name: name.canonicalName, value: $0) }
        }
        selecting[fields: .listedCookies] = Self.field(.listedCookies, cookies?.listed.cookies ?? [])
        selecting[fields: .listedFields] = Self.field(.listedFields, named)
    }

    /// Clients send cookies in any order, so they are sorted.
    private static func field(_ name: HTTPField.Name, _ values: [RequestCookies.Cookie]) -> [HTTPField] {
        if values.isEmpty { return [] }
        let sorted = RequestCookies(values.sorted { $0.name < $1.name })
        return [HTTPField(name: name, value: sorted.written)]
    }
}

extension HTTPFields {
    /// Replaces the `Cookie` fields by one field, which is written from cookies that were read.
    mutating func setCookie(_ value: String?) {
        self[fields: .cookie] = value.map { [HTTPField(name: .cookie, value: $0)] } ?? []
    }

    /// Replaces the fields that selected a variant by listed values with the request fields that
    /// they were made from.
    package mutating func restoreListedValues() {
        if let cookies = self[.listedCookies] { setCookie(cookies) }
        let named = self[.listedFields].flatMap { RequestCookies([.cookie: $0]) }?.cookies ?? []
        for value in named {
            guard let name = HTTPField.Name(value.name) else { continue }
            self[name] = value.value
        }
        for name in HTTPField.Name.listedValues { self[fields: name] = [] }
    }
}
