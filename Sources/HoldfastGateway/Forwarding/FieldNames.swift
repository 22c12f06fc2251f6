import HTTPTypes

extension HTTPField.Name {
    /// A name that is a token, as every literal here is.
    static func literal(_ name: StaticString) -> HTTPField.Name {
        guard let name = HTTPField.Name("\(name)") else { preconditionFailure("'\(name)' is no field name.") }
        return name
    }

    static let cacheStatus = literal("Cache-Status")
    static let forwarded = literal("Forwarded")
    static let viaGateway = literal("Via")
    static let xForwardedFor = literal("X-Forwarded-For")
    static let xForwardedHost = literal("X-Forwarded-Host")
    static let xForwardedProto = literal("X-Forwarded-Proto")
}
