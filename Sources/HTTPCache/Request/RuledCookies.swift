import HTTPCacheSemantics
import HTTPTypes

/// The cookies of a request, as a rule divides them. The only place that decides which cookies are
/// keyed and which are sent.
struct RuledCookies: Sendable, Hashable {
    /// The cookies that stay in the request. They count as credentials.
    let kept: RequestCookies
    /// The other cookies.
    let others: RequestCookies
    /// The value of the sent `Cookie` field, if it is not the field of the request that is keyed.
    let sent: String?

    /// Divides the cookies of a request.
    ///
    /// - Returns: `nil` if no rule divides them, or if the `Cookie` field cannot be read. Then the
    ///   request stays as it is.
    init?(_ fields: HTTPFields, _ settings: ExchangeSettings) {
        guard let rule = settings.cookies, fields.contains(.cookie), let all = RequestCookies(fields) else {
            return nil
        }
        kept = all.filter { rule.kept.contains($0.name) }
        others = all.filter { !rule.kept.contains($0.name) }
        sent = rule.forwardsAll && !others.isEmpty ? all.written : nil
    }

    /// Leaves only the kept cookies in a request.
    func keep(in fields: inout HTTPFields) { fields.setCookie(kept.isEmpty ? nil : kept.written) }
}

extension HTTPFields {
    /// Replaces the `Cookie` fields by one field, which is written from cookies that were read.
    mutating func setCookie(_ value: String?) {
        self[fields: .cookie] = value.map { [HTTPField(name: .cookie, value: $0)] } ?? []
    }
}
