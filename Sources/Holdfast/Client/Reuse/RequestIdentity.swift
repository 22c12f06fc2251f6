import HTTPCache
import HTTPTypes

/// The identity of a request: its method, target, fields and principal, byte for byte.
///
/// Credentials are in the fields or the target, so a response never crosses credentials.
struct RequestIdentity: Hashable, Sendable {
    private let method: HTTPRequest.Method
    /// The target as bytes, because Swift compares strings by canonical equivalence.
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

    /// Creates the identity of a request that may share its response with a slightly later, equal
    /// request. Returns `nil` in these cases:
    ///
    /// - The method is not GET or HEAD, or the request has content.
    /// - The endpoint's `storage` is `never`.
    /// - The request has a range, a condition, or its own cache directives.
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
