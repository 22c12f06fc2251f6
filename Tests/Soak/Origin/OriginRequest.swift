/// A request as an origin got it from the gateway.
struct OriginRequest {
    var method: String
    var resource: Resource
    var head: MessageReader.Head
    var content: [UInt8]

    /// The principal or language that selects the representation.
    var selector: String {
        switch resource.kind {
        case .mine: Self.principal(authorization: head["authorization"], cookie: head["cookie"])
        case .tongue: head["accept-language"] ?? "-"
        default: "-"
        }
    }

    static func principal(authorization: String?, cookie: String?) -> String {
        if let authorization { return authorization.replacing("Bearer ", with: "") }
        if let cookie { return cookie.replacing("sid=", with: "") }
        return "-"
    }

    var number: String { head["x-soak-number"] ?? "-" }
    var isUnsafe: Bool { method != "GET" && method != "HEAD" }
}
