import Holdfast

private struct Model {}
private final class Reference: Decodable { var count = 0 }

private struct NoPath: Endpoint {  // says: type 'NoPath' does not conform to protocol 'Endpoint'
    let baseURL = "https://a.example"
}

private struct NotDecodable: Endpoint {  // says: type 'NotDecodable' does not conform to protocol 'Endpoint'
    typealias Response = Model
    let path = "/x"
}

private struct NotSendable: Endpoint {  // says: 'Sendable'
    typealias Response = Reference
    let path = "/x"
}

private struct NoContext: Endpoint {
    let path = "/x"
    let method = .post  // says: cannot be resolved without a contextual type
}
