import HTTPTypes

extension HTTPField.Name {
    /// Creates a field name from a literal, which must be a token.
    static func literal(_ name: StaticString) -> HTTPField.Name {
        guard let name = HTTPField.Name("\(name)") else { preconditionFailure("'\(name)' is not a field name.") }
        return name
    }

    static let cacheStatus = literal("Cache-Status")
    static let maxForwards = literal("Max-Forwards")
    static let rateLimit = literal("RateLimit")
    static let rateLimitPolicy = literal("RateLimit-Policy")
    static let traceparent = literal("traceparent")
    static let tracestate = literal("tracestate")
    static let refresh = literal("Refresh")
    static let viaGateway = literal("Via")
    static let xForwardedFor = literal("X-Forwarded-For")
    static let xForwardedHost = literal("X-Forwarded-Host")
    static let xForwardedProto = literal("X-Forwarded-Proto")
    static let xRequestID = literal("X-Request-Id")
}
