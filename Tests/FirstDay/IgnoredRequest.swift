import Foundation
import Holdfast

// Properties that compile and are ignored, because a default satisfies the protocol. The compiler
// is silent. A client logs a warning, 'withTestClient' fails, and 'EndpointSourceCheck' reports
// each line that ends in '// ignored: WORDS', and no other.

private struct OtherTypes: Endpoint {
    let path = "/x"
    let baseURL: URL  // ignored: its type is 'URL'
    let method: String  // ignored: expects 'HTTPRequest.Method'
    let task: RequestParameters  // ignored: its type is 'RequestParameters'
    let headers: [String: String]?  // ignored: expects 'HTTPFields' or '[String: String]'
    let principal: UUID  // ignored: expects 'String' or 'String?'
    let secrets: [String]  // ignored: expects 'Secrets'
    let isMutation: Bool?  // ignored: expects 'Bool'
    let isIdempotent: Int  // ignored: expects 'Bool'
}

private struct OtherNames: Endpoint {
    let path = "/x"
    let baseUrl: String  // ignored: 'baseURL' of type
    let httpMethod: String  // ignored: 'method' of type
    let parameters: [String: Int]  // ignored: 'task' of type
    let header: [String: String]  // ignored: 'headers' of type
    let principle: String  // ignored: 'principal' of type
    let secret: Secrets  // ignored: 'secrets' of type
    let isMutating: Bool  // ignored: 'isMutation' of type
    let isIdempotant: Bool  // ignored: 'isIdempotent' of type
}

private enum Computed: Endpoint {
    case user(UUID)
    var path: String { "/x" }
    var baseURL: URL? { nil }  // ignored: its type is 'URL?'
    var principal: UUID { UUID() }  // ignored: its type is 'UUID'
    var methd: HTTPRequest.Method { .post }  // ignored: 'method' of type
    var body: Data { Data() }  // ignored: 'task' of type
    var header: HTTPFields { [:] }  // ignored: 'headers' of type
    var mutates: Bool { true }  // ignored: 'isMutation' of type
    var idempotent: Bool { true }  // ignored: 'isIdempotent' of type
}

private struct OtherKinds: Endpoint {
    let path = "/x"
    lazy var principal: String? = "ada"  // ignored: it is lazy
    static let headers = ["x-app-platform": "iOS"]  // ignored: it is static
    func task() -> HTTPTask { .plain }  // ignored: it is a function
}

private struct Unwrapped: Endpoint {
    let path = "/x"
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    var principal: String!  // ignored: its type is 'String!'
}

// An endpoint's own data is not reported.
private struct OwnData: Endpoint {
    let path = "/search"
    let header: [String: String]
    let parameters: [String: Int]
    let tag: String
    let query: String
    let body: String
    private let baseUrl = "https://a.example"
    static let method = "search"
    var baseURL: String { baseUrl }
    var method: HTTPRequest.Method { .post }
    var task: HTTPTask { .query(["method": Self.method, "tag": tag, "query": query, "body": body]) }
    var headers: [String: String] { header }
    func retry(after delay: Duration) -> Bool { false }
}
