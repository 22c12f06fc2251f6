internal import HTTPTypes

/// Cookies that an operator leaves out of stored responses. RFC 9111 §7.3
extension CachePolicy {
    /// Returns whether the response sets a cookie that is left out.
    func leavesOutCookie(of fields: HTTPFields) -> Bool {
        guard let overrides = overrides(of: fields), overrides.withoutCookies != nil else { return false }
        return fields.contains { overrides.leavesOut($0) }
    }

    /// Returns whether every cookie that the response sets is left out.
    func leavesOutEveryCookie(of fields: HTTPFields) -> Bool {
        guard let overrides = overrides(of: fields), overrides.withoutCookies != nil else { return false }
        return fields.allSatisfy { $0.name != .setCookie || overrides.leavesOut($0) }
    }
}

extension PolicyOverrides {
    /// Returns whether a field sets a cookie that is left out of stored responses.
    func leavesOut(_ field: HTTPField) -> Bool {
        guard let withoutCookies, field.name == .setCookie, let name = field.setCookieName else { return false }
        return withoutCookies.contains(name) && keptCookies?.contains(name) != true
    }
}
