public import CacheRules
public import HTTPCache
import HTTPCacheSemantics
public import HTTPTypes
public import HoldfastContent

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A request that an API offers: its URL, method and content, and the type of its response.
///
/// A `struct` describes one resource. An `enum` describes a whole API, with one case per request:
///
/// ```swift
/// enum GitHub: Endpoint {
///     case user(String)
///     var baseURL: String { "https://api.github.com" }
///     var path: URLPath { switch self { case .user(let name): "/users/\(name)" } }
/// }
/// ```
///
/// Every requirement except ``path`` has a default. An optional property may also have the value's
/// own type: both `let principal: String` and `let principal: String?` set the principal
/// (``OptionalConvertible``).
public protocol Endpoint: Sendable {
    /// The type that the content decodes to. `Data` (the bytes), `String` (UTF-8) and ``NoContent``
    /// are used directly; the client's decoder decodes all other types. A call can request another
    /// type with `as:`.
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
    /// The type of ``retry``: `RetryPlan` or `RetryPlan?`.
    associatedtype EndpointRetry: OptionalConvertible<RetryPlan> = RetryPlan?
    /// The type of ``sampleResponse``: `SampleResponse` or `SampleResponse?`.
    associatedtype EndpointSampleResponse: OptionalConvertible<SampleResponse> = SampleResponse?

    // MARK: The request

    /// An absolute `http` or `https` URL. If it has a path, the path precedes ``path``. If the base
    /// URL is empty, the base URL of the client's environment is used.
    var baseURL: String { get }
    /// Returns the base URL for an environment, for endpoints that choose among several. By
    /// default, this is ``baseURL``, or the environment's base URL if ``baseURL`` is empty.
    ///
    /// - Parameter environment: the client's environment; `nil` if it has none.
    func baseURL(in environment: ServerEnvironment?) -> String
    /// The path below ``baseURL``. It may have a query after `?`.
    ///
    /// ```swift
    /// let path = "/moments"
    /// var path: URLPath { "/users/\(name)" }
    /// ```
    ///
    /// - Important: Put data into a ``URLPath``, which keeps each value within its segment. A
    ///   `String` is sent unchanged, except for characters that are not allowed in a URL, so a name
    ///   of `a?admin=1` would become a query.
    ///
    /// With both types, if a segment reads as `.` or `..`, the call fails with code `invalidURL`.
    var path: EndpointPath { get }
    /// The method. By default, GET, or POST if ``task`` requires it.
    var method: HTTPRequest.Method { get }
    /// The parameters and content. ``HTTPTask/plain`` by default.
    var task: HTTPTask { get }
    /// The fields of this request. They replace the client's default fields of the same name.
    ///
    /// Use `HTTPField.Name` for the names, or strings in a `[String: String]`. A string that is not
    /// a valid name makes the call fail with code `encodingFailed`.
    var headers: EndpointHeaders { get }
    /// The principal of this request, if it differs from the client's
    /// ``RequestDefaults/principal``. A principal cannot see another principal's stored responses.
    ///
    /// ```swift
    /// let principal: String
    /// var principal: String? { session?.userID }
    /// ```
    var principal: EndpointPrincipal { get }
    /// The secrets of this request, in addition to the client's ``RequestDefaults/secrets``.
    var secrets: Secrets { get }
    /// Whether the request changes data at the origin. A mutation is not served from the store and
    /// not collapsed with another request. Unless it is ``isIdempotent``, it is retried only after
    /// `HoldfastError.Code.overloaded`. The default depends on the method and the task. These are
    /// not mutations:
    /// - a request with a safe method (RFC 9110 §9.2.1)
    /// - a GraphQL query
    /// - a POST whose response is stored under its content (``storage``)
    var isMutation: Bool { get }
    /// Whether sending the request twice has the same effect as sending it once, so that it may be
    /// retried. By default, all requests except mutations are idempotent.
    var isIdempotent: Bool { get }

    // MARK: The store

    /// Whether and for how long the response is stored. By default, the response's own fields
    /// determine this. `CacheRequest.Storage.expiring` also stores responses to POST, keyed by the
    /// request's content, unless the content is read from files while it is sent. Responses to
    /// other unsafe methods are never stored.
    var storage: CacheRequest.Storage { get }
    /// Settings that individually override the client's rules for this endpoint. None by default.
    var rule: EndpointRule { get }
    /// Whether responses are kept for offline reads even if directives forbid storing or using
    /// them. By default, the client's setting applies. If ``rule`` sets `stale.ignore`, the rule
    /// takes precedence.
    var offlineReads: EndpointOfflineReads { get }
    /// Names that group stored responses, so that they can be invalidated together, either by a
    /// mutation (``StoreInvalidation/tag(_:)``) or manually. They are added to the tags from rules
    /// and from the origin. None by default.
    ///
    /// ```swift
    /// var tags: [String] { ["feed", "feed-\(userID)"] }
    /// ```
    ///
    /// There can be at most 32 tags, each of 1 to 256 bytes without control characters. Otherwise
    /// the call fails with code `invalidRule`. Tags are stored in plain text, so they must not
    /// contain secrets.
    var tags: [String] { get }
    /// The strategy for getting a single value, unless the call specifies one.
    /// ``SingleValueStrategy/standard`` by default.
    var strategy: SingleValueStrategy { get }
    /// The stored responses that a successful request invalidates, before the caller sees the
    /// response. None by default.
    var invalidates: [StoreInvalidation] { get }
    /// Whether a successful request with an unsafe method also invalidates the stored responses of
    /// its own URL. RFC 9111 §4.4
    ///
    /// `true` for mutations by default. If an API has one URL for everything, as GraphQL does, this
    /// invalidates all of its stored responses. With `false`, only the responses listed in
    /// ``invalidates`` become stale.
    var invalidatesTarget: Bool { get }

    // MARK: The response

    /// The statuses that count as a success. 200 to 299 by default.
    var acceptedStatuses: AcceptedStatuses { get }
    /// The path of the value in the content. If there is an envelope, the path starts at the
    /// envelope's model. The top level by default.
    var valuePath: ValuePath { get }
    /// The envelope of the content, if it differs from the client's
    /// ``CachingClient/Configuration/envelope``.
    var envelope: EnvelopeChoice { get }
    /// The meaning of a response without content. An error by default.
    var emptyContent: EmptyContent { get }
    /// The maximum length of the content in bytes, after decompression. The client's limit by
    /// default.
    var maximumBodyBytes: EndpointMaximumBodyBytes { get }
    /// The time limit for the whole call. By default, only the limits of the client's transport and
    /// engine apply.
    var timeout: EndpointTimeout { get }
    /// The plan for retries. The client's plan by default.
    var retry: EndpointRetry { get }
    /// Which redirects are followed. By default, redirects of requests that change nothing.
    var redirects: RedirectPolicy { get }
    /// The response to this endpoint in tests. None by default.
    var sampleResponse: EndpointSampleResponse { get }
}

/// The envelope of an endpoint's content.
public enum EnvelopeChoice: Sendable, Hashable {
    /// The client's envelope, if it has one.
    case inherited
    /// No envelope.
    case none
    /// This envelope.
    case custom(Envelope)
}

extension Endpoint {
    /// Empty, so the environment's base URL is used.
    public var baseURL: String { "" }
    /// Returns ``baseURL``, or the environment's base URL if ``baseURL`` is empty.
    public func baseURL(in environment: ServerEnvironment?) -> String {
        baseURL.isEmpty ? environment?.baseURL ?? "" : baseURL
    }
    /// POST if the task has content, otherwise GET. If ``task`` depends on the method, the endpoint
    /// must declare the method.
    public var method: HTTPRequest.Method { task.impliedMethod }
    /// No parameters and no content.
    public var task: HTTPTask { .plain }
    /// No fields.
    public var headers: HTTPFields { [:] }
    /// No principal of its own, so the client's principal is used.
    public var principal: String? { nil }
    /// No secrets of its own.
    public var secrets: Secrets { Secrets() }
    /// Depends on the method and the task.
    public var isMutation: Bool { isMutationByDefault }
    /// All requests except mutations.
    public var isIdempotent: Bool { !isMutation }
    /// Determined by the response's own fields. RFC 9111 §3
    public var storage: CacheRequest.Storage { .byResponse }
    /// No settings of its own.
    public var rule: RuleSettings? { nil }
    /// The client's setting.
    public var offlineReads: OfflineReads? { nil }
    /// No tags of its own.
    public var tags: [String] { [] }
    /// The strategy of RFC 9111.
    public var strategy: SingleValueStrategy { .standard }
    /// No invalidations.
    public var invalidates: [StoreInvalidation] { [] }
    /// `true` for mutations.
    public var invalidatesTarget: Bool { isMutation }
    /// 200 to 299.
    public var acceptedStatuses: AcceptedStatuses { .successful }
    /// The top level.
    public var valuePath: ValuePath { ValuePath() }
    /// The client's envelope.
    public var envelope: EnvelopeChoice { .inherited }
    /// Missing content is an error.
    public var emptyContent: EmptyContent { .missing }
    /// The client's limit.
    public var maximumBodyBytes: Int? { nil }
    /// No limit of its own.
    public var timeout: Duration? { nil }
    /// The client's plan.
    public var retry: RetryPlan? { nil }
    /// Redirects of requests that change nothing.
    public var redirects: RedirectPolicy { .reads }
    /// No sample.
    public var sampleResponse: SampleResponse? { nil }

    /// Whether the request changes data at the origin, unless the endpoint says otherwise.
    var isMutationByDefault: Bool {
        // The document determines the kind of operation, regardless of how it is sent and stored.
        if case .graphQL(let operation) = task { return operation.kind != .query }
        if case .expiring = storage, method == .post, task.isKeyed { return false }
        return !method.isSafe
    }
}

/// The response type of an endpoint whose content is ignored.
public struct NoContent: Decodable, Sendable, Hashable {
    /// Creates the empty value.
    public init() {}
    /// Decodes any content and ignores it.
    public init(from decoder: any Decoder) {}
}
