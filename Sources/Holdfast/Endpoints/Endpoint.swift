public import HTTPCache
public import HTTPTypes

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// One thing an API offers: where it is, how it is asked for, and what comes back.
///
/// A `struct` describes one resource, an `enum` a whole API, one case each:
///
/// ```swift
/// enum GitHub: Endpoint {
///     case user(String)
///     var baseURL: String { "https://api.github.com" }
///     var path: String { switch self { case .user(let name): "/users/\(name)" } }
/// }
/// ```
public protocol Endpoint: Sendable {
    /// What the content decodes to. `Data` (the bytes), `String` (UTF-8) and ``NoContent`` are taken as they are; everything else
    /// goes through the client's decoder. A call can name another type with `as:`.
    associatedtype Response: Decodable & Sendable = Data

    /// An absolute `http` or `https` URL; its path, if any, goes before ``path``.
    var baseURL: String { get }
    /// The path below ``baseURL``, percent-encoded where it must be; a query after `?` is allowed.
    var path: String { get }
    /// GET unless told otherwise.
    var method: HTTPRequest.Method { get }
    /// Parameters and content. ``HTTPTask/plain`` unless told otherwise.
    var task: HTTPTask { get }
    /// Fields of this request; they take the place of the client's default fields of the same name.
    var headers: HTTPFields { get }
    /// Whether and how long the response is stored. By the response's own fields unless told otherwise; ``CacheRequest/Storage/expiring(_:)``
    /// also stores answers to POST, keyed by their content.
    var storage: CacheRequest.Storage { get }
    /// Whose request this is, where it is not the client's ``RequestDefaults/principal``: what is stored for one principal is not seen by another.
    var principal: String? { get }
}

extension Endpoint {
    /// GET.
    public var method: HTTPRequest.Method { .get }
    /// No parameters, no content.
    public var task: HTTPTask { .plain }
    /// None.
    public var headers: HTTPFields { [:] }
    /// By the response's own fields. RFC 9111 §3
    public var storage: CacheRequest.Storage { .byResponse }
    /// The client's.
    public var principal: String? { nil }
}

/// The response of an endpoint whose content, if any, is of no interest.
public struct NoContent: Decodable, Sendable, Hashable {
    /// Nothing.
    public init() {}
    /// Nothing, whatever is there.
    public init(from decoder: any Decoder) {}
}
