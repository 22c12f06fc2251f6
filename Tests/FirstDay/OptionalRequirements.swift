import Holdfast

// A value's own type and an optional of it satisfy each optional requirement.

private struct OfUser: Endpoint {
    let path = "/me"
    let principal: String
}

private struct OfPerhapsAUser: Endpoint {
    let path = "/me"
    let principal: String?
}

private enum Computed: Endpoint {
    case user(String)
    var path: String { "/me" }
    var principal: String {
        switch self {
        case .user(let name): name
        }
    }
}

private struct ComputedOptionally: Endpoint {
    let path = "/me"
    var principal: String? { nil }
}

private struct Omitted: Endpoint { let path = "/me" }

private func principals(of endpoint: some Endpoint, _ erased: any Endpoint) -> [String?] {
    [endpoint.principal.asOptional, erased.principal.asOptional]
}
