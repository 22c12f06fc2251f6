import HTTPCache
import HTTPTypes

/// What makes two requests the same: method, target, fields and principal, to the byte.
///
/// Credentials are among the fields, or in the target, so that nobody gets what came for others.
struct RequestIdentity: Hashable, Sendable {
    private let method: HTTPRequest.Method
    /// As bytes, because strings are equal that only look the same.
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

    /// The identity of a request that may share its response with the same one a short time later;
    /// `nil` for what changes something, has content, is never stored by its endpoint's word, asks
    /// for a part or under a condition, or says itself what it wants of a cache.
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
