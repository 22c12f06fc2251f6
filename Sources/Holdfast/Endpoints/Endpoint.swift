public import HTTPCache
public import HTTPTypes
public import HoldfastConfiguration

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// One request that an API offers: its URL, its method and content, and the type of its response.
///
/// A `struct` describes one resource. An `enum` describes a whole API, one case for each request:
///
/// ```swift
/// enum GitHub: Endpoint {
///     case user(String)
///     var baseURL: String { "https://api.github.com" }
///     var path: URLPath { switch self { case .user(let name): "/users/\(name)" } }
/// }
/// ```
///
/// Everything but ``path`` has a default. A property that takes an optional also takes the value's
/// own type: `let principal: String` and `let principal: String?` both name the principal
/// (``OptionalConvertible``).
public protocol Endpoint: Sendable {
    /// The type that the content decodes to. `Data` (the bytes), `String` (UTF-8) and ``NoContent``
    /// are taken as they are; the client's decoder decodes all others. A call can name another type
    /// with `as:`.
    associatedtype Response: Decodable & Sendable = Data
    /// The type of ``path``: `String` or ``URLPath``.
    associatedtype EndpointPath: URLPathConvertible = String
    /// The type of ``headers``: `HTTPFields` or `[String: String]`.
    associatedtype EndpointHeaders: HTTPFieldsConvertible = HTTPFields
    /// The type of ``principal``: `String` or `String?`.
    associatedtype EndpointPrincipal: OptionalConvertible<String> = String?
    /// The type of ``rule``: `RuleSettings` or `RuleSettings?`.
    associatedtype EndpointRule: OptionalConvertible<RuleSettings> = RuleSettings?
    /// The type of ``offlineReads``: `OfflineReads` or `OfflineReads?`.
    associatedtype EndpointOfflineReads: OptionalConvertible<OfflineReads> = OfflineReads?
    /// The type of ``maximumBodyBytes``: `Int` or `Int?`.
    associatedtype EndpointMaximumBodyBytes: OptionalConvertible<Int> = Int?
    /// The type of ``timeout``: `Duration` or `Duration?`.
    associatedtype EndpointTimeout: OptionalConvertible<Duration> = Duration?
    /// The type of ``retry``: `RetryPolicy` or `RetryPolicy?`.
    associatedtype EndpointRetry: OptionalConvertible<RetryPolicy> = RetryPolicy?
    /// The type of ``sampleResponse``: `SampleResponse` or `SampleResponse?`.
    associatedtype EndpointSampleResponse: OptionalConvertible<SampleResponse> = SampleResponse?

    // MARK: The request

    /// An absolute `http` or `https` URL. Its path, if any, precedes ``path``. If it is empty, the
    /// base URL of the client's environment is used.
    var baseURL: String { get }
    /// Returns the base URL in an environment, for endpoints that choose among several. By default
    /// ``baseURL``, or the environment's if that is empty.
    ///
    /// - Parameter environment: the client's; `nil` if it has none.
    func baseURL(in environment: ServerEnvironment?) -> String
    /// The path below ``baseURL``. It may have a query after `?`.
    ///
    /// ```swift
    /// let path = "/moments"
    /// var path: URLPath { "/users/\(name)" }
    /// ```
    ///
    /// - Important: Put data into a ``URLPath``, which keeps each value within its segment. A
    ///   `String` is sent as it is, except for characters that no URL has: a name of `a?admin=1`
    ///   would become a query.
    ///
    /// In neither type may a segment read as `.` or `..`: the call fails with code `invalidURL`.
    var path: EndpointPath { get }
    /// The method. GET by default; POST if ``task`` needs it.
    var method: HTTPRequest.Method { get }
    /// Parameters and content. ``HTTPTask/plain`` by default.
    var task: HTTPTask { get }
    /// Fields of this request. They replace the client's default fields of the same name.
    ///
    /// Use `HTTPField.Name` for the names, or strings in a `[String: String]`. A string that is not
    /// a valid name makes the call fail with code `encodingFailed`.
    var headers: EndpointHeaders { get }
    /// The principal of this request, if it is not the client's ``RequestDefaults/principal``. A
    /// principal does not see the stored responses of another one.
    ///
    /// ```swift
    /// let principal: String
    /// var principal: String? { session?.userID }
    /// ```
    var principal: EndpointPrincipal { get }
    /// The secrets of this request, in addition to the client's ``RequestDefaults/secrets``.
    var secrets: Secrets { get }
    /// Whether the request changes something at the origin. A mutation is not served from the
    /// store, not collapsed with another request, and not sent again unless ``isIdempotent``. The
    /// default follows from method and task: a safe method (RFC 9110 §9.2.1), a GraphQL query, and
    /// a POST whose response is stored under its content (``storage``) are not mutations.
    var isMutation: Bool { get }
    /// Whether sending the request twice has the same effect as sending it once, so that it may be
    /// sent again. By default, all requests but mutations are idempotent.
    var isIdempotent: Bool { get }

    // MARK: The store

    /// Whether the response is stored, and for how long. By default the response's own fields
    /// decide. `CacheRequest.Storage.expiring` also stores responses to POST, keyed by the
    /// request's content, unless that is read from files while it is sent. Responses to other
    /// unsafe methods are never stored.
    var storage: CacheRequest.Storage { get }
    /// Settings that override the client's rules for this endpoint, one by one. None by default.
    var rule: EndpointRule { get }
    /// Whether responses that directives forbid to store or to use are kept for reads without the
    /// network. The client's setting by default. If ``rule`` sets `stale.ignore`, that takes
    /// precedence.
    var offlineReads: EndpointOfflineReads { get }
    /// Names that group stored responses, so that they can be invalidated together by a mutation
    /// (``StoreInvalidation/tag(_:)``) or by hand. They are added to the tags of rules and of the
    /// origin. None by default.
    ///
    /// ```swift
    /// var tags: [String] { ["feed", "feed-\(userID)"] }
    /// ```
    ///
    /// At most 32 tags, each of 1 to 256 bytes without control characters. Otherwise the call fails
    /// with code `invalidRule`. Tags are stored as they are, so they must hold no secret.
    var tags: [String] { get }
    /// How a single value is obtained if the call names no strategy.
    /// ``SingleValueStrategy/standard`` by default.
    var strategy: SingleValueStrategy { get }
    /// The stored responses and objects that a success of this endpoint invalidates, before the
    /// caller sees the response. None by default.
    var invalidates: [StoreInvalidation] { get }
    /// Whether a successful request with an unsafe method also invalidates the stored responses of
    /// its own URL. RFC 9111 §4.4
    ///
    /// `true` for mutations by default. If an API has one URL for everything, as GraphQL does, that
    /// invalidates all its stored responses. With `false`, only the responses that ``invalidates``
    /// names become stale.
    var invalidatesTarget: Bool { get }

    // MARK: The response

    /// The statuses that are a success. 200 to 299 by default.
    var acceptedStatuses: AcceptedStatuses { get }
    /// The path of the value in the content, below the envelope's model if there is an envelope.
    /// The top level by default.
    var valuePath: ValuePath { get }
    /// How the content is wrapped, if not by the client's ``CachingClient/Configuration/envelope``.
    var envelope: EnvelopeChoice { get }
    /// The meaning of a response without content. An error by default.
    var emptyContent: EmptyContent { get }
    /// Bytes of content that are accepted, after decompression. The client's limit by default.
    var maximumBodyBytes: EndpointMaximumBodyBytes { get }
    /// How long the whole call may take. By default only the limits of the client's transport and
    /// engine apply.
    var timeout: EndpointTimeout { get }
    /// When the request is sent again. The client's policy by default.
    var retry: EndpointRetry { get }
    /// The response to this endpoint in tests. None by default.
    var sampleResponse: EndpointSampleResponse { get }
}

/// The envelope of an endpoint's content.
public enum EnvelopeChoice: Sendable, Hashable {
    /// The client's, if it has one.
    case inherited
    /// None.
    case none
    /// This one.
    case custom(Envelope)
}

extension Endpoint {
    /// Empty: the environment's base URL is used.
    public var baseURL: String { "" }
    /// ``baseURL``; the environment's if that is empty.
    public func baseURL(in environment: ServerEnvironment?) -> String {
        baseURL.isEmpty ? environment?.baseURL ?? "" : baseURL
    }
    /// POST if the task has content, otherwise GET. If ``task`` depends on the method, the endpoint
    /// must declare one.
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
        // The document determines the kind of an operation, however it is sent and stored.
        if case .graphQL(let operation) = task { return operation.kind != .query }
        if case .expiring = storage, method == .post, task.isKeyed { return false }
        return !method.isSafe
    }
    /// Every request but a mutation.
    public var isIdempotent: Bool { !isMutation }
    /// By the response's own fields. RFC 9111 §3
    public var storage: CacheRequest.Storage { .byResponse }
    /// None.
    public var rule: RuleSettings? { nil }
    /// The client's.
    public var offlineReads: OfflineReads? { nil }
    /// None of its own.
    public var tags: [String] { [] }
    /// By RFC 9111.
    public var strategy: SingleValueStrategy { .standard }
    /// Nothing.
    public var invalidates: [StoreInvalidation] { [] }
    /// A mutation does.
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
    /// Whether the method only reads. RFC 9110 §9.2.1, RFC 10008
    var isSafe: Bool {
        switch self {
        case .get, .head, .options, .trace: true
        default: rawValue == "QUERY"
        }
    }
}

/// The response type of an endpoint whose content is of no interest.
public struct NoContent: Decodable, Sendable, Hashable {
    /// Creates the empty value.
    public init() {}
    /// Decodes any content, and ignores it.
    public init(from decoder: any Decoder) {}
}
