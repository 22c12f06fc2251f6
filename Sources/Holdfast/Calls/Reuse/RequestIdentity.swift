import HTTPCache
import HTTPTypes

/// The identity of a request: method, target, fields and principal, byte for byte.
///
/// Credentials are among the fields, or in the target, so a response never crosses credentials.
struct RequestIdentity: Hashable, Sendable {
    private let method: HTTPRequest.Method
    /// As bytes, because strings that only look alike can be equal.
    private let target: [UInt8]
    private let principal: [UInt8]?
    private let fields: HTTPFields

    init(_ request: CacheRequest) {
        let head = request.head
        method = head.method
        target = Array([head.scheme ?? "", head.authority ?? "", head.path ?? ""].joined(separator: "\n").utf8)
        principal = request.principal.map { Array($0.utf8) }
        fields = head.headerFields
    }

    /// The identity of a request that may share its response with an equal, slightly later one.
    /// `nil` if the request changes something, has content, has an endpoint whose `storage` is
    /// `never`, asks for a range or under a condition, or has its own cache directives.
    init?(sharing request: CacheRequest) {
        guard request.head.method == .get || request.head.method == .head, request.body == nil,
            request.storage != .never,
            !request.head.headerFields.contains(where: { Self.unshared.contains($0.name.canonicalName) })
        else { return nil }
        self.init(request)
    }

    private static let unshared: Set<String> = [
        "cache-control", "pragma", "range", "if-match", "if-none-match", "if-modified-since",
        "if-unmodified-since", "if-range",
    ]
}
