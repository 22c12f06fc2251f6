public import HTTPCache
public import HTTPTypes
public import HoldfastConfiguration

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
///     var path: URLPath { switch self { case .user(let name): "/users/\(name)" } }
/// }
/// ```
///
/// Everything but ``path`` has a default.
public protocol Endpoint: Sendable {
    /// What the content decodes to. `Data` (the bytes), `String` (UTF-8) and ``NoContent`` are
    /// taken as they are; everything else goes through the client's decoder. A call can name
    /// another type with `as:`.
    associatedtype Response: Decodable & Sendable = Data
    /// The type of ``path``: `String` or ``URLPath``.
    associatedtype EndpointPath: URLPathConvertible = String
    /// The type of ``headers``: `HTTPFields` or `[String: String]`.
    associatedtype EndpointHeaders: HTTPFieldsConvertible = HTTPFields

    // MARK: The request

    /// An absolute `http` or `https` URL; its path, if any, goes before ``path``. Empty: that of
    /// the client's environment.
    var baseURL: String { get }
    /// The base URL in an environment, for endpoints that choose among several. ``baseURL``, or
    /// else the environment's.
    ///
    /// - Parameter environment: the client's; `nil` where it has none.
    func baseURL(in environment: ServerEnvironment?) -> String
    /// The path below ``baseURL``; a query after `?` is allowed.
    ///
    /// ```swift
    /// let path = "/moments"
    /// var path: URLPath { "/users/\(name)" }
    /// ```
    ///
    /// - Important: Data belongs into a ``URLPath``, which keeps each value within its segment. A
    ///   `String` is sent as it is, but for characters that no URL has: a name of `a?admin=1` would
    ///   become a query.
    ///
    /// In neither may a segment read as `.` or `..`: the call fails with code `invalidURL`.
    var path: EndpointPath { get }
    /// GET unless told otherwise; POST where ``task`` is one that needs it.
    var method: HTTPRequest.Method { get }
    /// Parameters and content. ``HTTPTask/plain`` unless told otherwise.
    var task: HTTPTask { get }
    /// Fields of this request; they take the place of the client's default fields of the same name.
    ///
    /// Names are `HTTPField.Name`s, or strings in a `[String: String]`, of which one that is no
    /// name makes the call fail with code `encodingFailed`.
    var headers: EndpointHeaders { get }
    /// Whose request this is, where it is not the client's ``RequestDefaults/principal``: what is
    /// stored for one principal is not seen by another.
    var principal: String? { get }
    /// What of it is a secret beside the client's ``RequestDefaults/secrets``.
    var secrets: Secrets { get }
    /// It changes something at the origin. Such a request is not answered from the store, not
    /// joined to another one under way, and not sent again unless ``isIdempotent``. By the method
    /// and the task, unless told otherwise: safe methods change nothing (RFC 9110 §9.2.1), nor do a
    /// GraphQL query and a POST whose answer is stored under its content (``storage``).
    var isMutation: Bool { get }
    /// Sending it twice comes to the same as sending it once, so that it may be sent again. What is
    /// no mutation is, unless told otherwise.
    var isIdempotent: Bool { get }

    // MARK: The store

    /// Whether and how long the response is stored. By the response's own fields unless told
    /// otherwise; `CacheRequest.Storage.expiring` also stores answers to POST, keyed by their
    /// content: not where that is read from files while it is sent. Answers to other methods that
    /// change something are never stored.
    var storage: CacheRequest.Storage { get }
    /// What holds for this endpoint in place of the client's rules, setting by setting. None.
    var rule: RuleSettings? { get }
    /// Whether what the responses' directives forbid to store or to use is kept for reads without
    /// the network. The client's unless told otherwise; where ``rule`` sets `stale.despite`, that
    /// counts.
    var offlineReads: OfflineReads? { get }
    /// Names under which its stored responses can be made out of date together, beside the rules'
    /// and the origin's own: by a mutation (``StoreInvalidation/tag(_:)``), or by hand. None.
    ///
    /// ```swift
    /// var tags: [String] { ["feed", "feed-\(userID)"] }
    /// ```
    ///
    /// At most 32, of 1 to 256 bytes each without control characters; beyond that the call fails
    /// with code `invalidRule`. They are in the store as they are: no secret belongs into them.
    var tags: [String] { get }
    /// How a single value is had where the call names no strategy. ``SingleValueStrategy/standard``
    /// unless told otherwise.
    var strategy: SingleValueStrategy { get }
    /// What a success of this endpoint makes out of date. It counts before the caller sees the
    /// answer. None unless told otherwise.
    var invalidates: [StoreInvalidation] { get }
    /// Whether a success also makes out of date what is stored for the very URL that it was sent
    /// to, where it is sent by an unsafe method. RFC 9111 §4.4
    ///
    /// True of mutations unless told otherwise. Where an API has one URL for everything, as GraphQL
    /// has, that is everything that is stored of it; with `false` only what ``invalidates`` names
    /// is.
    var invalidatesTarget: Bool { get }

    // MARK: The response

    /// Which statuses are a success. 200 to 299 unless told otherwise.
    var acceptedStatuses: AcceptedStatuses { get }
    /// Where in the content the value stands; below the envelope's model where there is an
    /// envelope. The top level.
    var valuePath: ValuePath { get }
    /// How the content is wrapped, where it is not as the client's
    /// ``CachingClient/Configuration/envelope`` says.
    var envelope: EnvelopeChoice { get }
    /// What no content means. An error unless told otherwise.
    var emptyContent: EmptyContent { get }
    /// Bytes of content that are accepted, after decompression; the client's limit unless told
    /// otherwise.
    var maximumBodyBytes: Int? { get }
    /// How long the whole call may take; no limit but those of the client's transport and engine
    /// unless told otherwise.
    var timeout: Duration? { get }
    /// When the request is sent again; as the client says unless told otherwise.
    var retry: RetryPolicy? { get }
    /// What it answers in tests. None.
    var sampleResponse: SampleResponse? { get }
}

/// Which envelope content comes in.
public enum EnvelopeChoice: Sendable, Hashable {
    /// The client's, if it has one.
    case inherited
    /// None.
    case none
    /// This one.
    case custom(Envelope)
}

extension Endpoint {
    /// The environment's.
    public var baseURL: String { "" }
    /// ``baseURL``; the environment's where that is empty.
    public func baseURL(in environment: ServerEnvironment?) -> String {
        baseURL.isEmpty ? environment?.baseURL ?? "" : baseURL
    }
    /// POST where the task has content, otherwise GET. A ``task`` that asks for the method needs
    /// one that is given.
    public var method: HTTPRequest.Method { task.impliedMethod }
    /// No parameters, no content.
    public var task: HTTPTask { .plain }
    /// None.
    public var headers: HTTPFields { [:] }
    /// The client's.
    public var principal: String? { nil }
    /// None beside the client's.
    public var secrets: Secrets { Secrets() }
    /// By method and task.
    public var isMutation: Bool {
        // An operation is what its document says, however it is sent and whatever is to become of
        // its answer.
        if case .graphQL(let operation) = task { return operation.kind != .query }
        if case .expiring = storage, method == .post, task.isKeyed { return false }
        return !method.isSafe
    }
    /// What changes nothing.
    public var isIdempotent: Bool { !isMutation }
    /// By the response's own fields. RFC 9111 §3
    public var storage: CacheRequest.Storage { .byResponse }
    /// None.
    public var rule: RuleSettings? { nil }
    /// The client's.
    public var offlineReads: OfflineReads? { nil }
    /// None of its own.
    public var tags: [String] { [] }
    /// RFC 9111.
    public var strategy: SingleValueStrategy { .standard }
    /// Nothing.
    public var invalidates: [StoreInvalidation] { [] }
    /// What a mutation does.
    public var invalidatesTarget: Bool { isMutation }
    /// 200 to 299.
    public var acceptedStatuses: AcceptedStatuses { .successful }
    /// The top level.
    public var valuePath: ValuePath { ValuePath() }
    /// The client's.
    public var envelope: EnvelopeChoice { .inherited }
    /// An error.
    public var emptyContent: EmptyContent { .isMissing }
    /// The client's.
    public var maximumBodyBytes: Int? { nil }
    /// None of its own.
    public var timeout: Duration? { nil }
    /// The client's.
    public var retry: RetryPolicy? { nil }
    /// None.
    public var sampleResponse: SampleResponse? { nil }
}

extension HTTPRequest.Method {
    /// It reads. RFC 9110 §9.2.1, RFC 10008
    var isSafe: Bool {
        switch self {
        case .get, .head, .options, .trace: true
        default: rawValue == "QUERY"
        }
    }
}

/// The response of an endpoint whose content, if any, is of no interest.
public struct NoContent: Decodable, Sendable, Hashable {
    /// Nothing.
    public init() {}
    /// Nothing, whatever is there.
    public init(from decoder: any Decoder) {}
}
