public import CacheRules
public import HTTPCache
public import HTTPTypes
public import HoldfastContent

/// A request without an endpoint type: a URL, and the type that the response decodes to.
///
/// ```swift
/// var search = AdHocRequest<[Movie]>("https://api.example.com/search", query: ["q": "holdfast"])
/// search.storage = .expiring(.after(.seconds(600)))
/// for try await emission in client.startWith(search) { print(emission.value.count) }
/// ```
///
/// It is an ``Endpoint`` like any other: it shares stored responses with a declared endpoint that
/// makes the same request. An invalid URL makes the call fail with code `invalidURL`.
///
/// If you request an API in more than a few places, declare a type: see ``Endpoint``.
public struct AdHocRequest<Response: Decodable & Sendable>: Endpoint {
    /// See ``Endpoint/baseURL``.
    public var baseURL: String
    /// See ``Endpoint/path``.
    public var path: String
    /// See ``Endpoint/task``.
    public var task: HTTPTask
    /// See ``Endpoint/headers``.
    public var headers: HTTPFields
    /// See ``Endpoint/principal``.
    public var principal: String?
    /// See ``Endpoint/secrets``.
    public var secrets = Secrets()
    /// See ``Endpoint/storage``.
    public var storage = CacheRequest.Storage.byResponse
    /// See ``Endpoint/offlineReads``.
    public var offlineReads: OfflineReads?
    /// See ``Endpoint/rule``.
    public var rule: RuleSettings?
    /// See ``Endpoint/tags``.
    public var tags: [String] = []
    /// See ``Endpoint/strategy``.
    public var strategy = SingleValueStrategy.standard
    /// See ``Endpoint/invalidates``.
    public var invalidates: [StoreInvalidation] = []
    /// See ``Endpoint/acceptedStatuses``.
    public var acceptedStatuses = AcceptedStatuses.successful
    /// See ``Endpoint/valuePath``.
    public var valuePath = ValuePath()
    /// See ``Endpoint/envelope``.
    public var envelope = EnvelopeChoice.inherited
    /// See ``Endpoint/emptyContent``.
    public var emptyContent = EmptyContent.missing
    /// See ``Endpoint/maximumBodyBytes``.
    public var maximumBodyBytes: Int?
    /// See ``Endpoint/timeout``.
    public var timeout: Duration?
    /// See ``Endpoint/retry``.
    public var retry: RetryPlan?
    /// See ``Endpoint/redirects``.
    public var redirects = RedirectPolicy.reads
    /// See ``Endpoint/sampleResponse``.
    public var sampleResponse: SampleResponse?

    private var namedMethod: HTTPRequest.Method?
    /// The explicit method. If there is none, POST if the task has content, otherwise GET.
    public var method: HTTPRequest.Method {
        get { namedMethod ?? task.impliedMethod }
        set { namedMethod = newValue }
    }

    private var ownMutation: Bool?
    /// See ``Endpoint/isMutation``.
    public var isMutation: Bool {
        get { ownMutation ?? isMutationByDefault }
        set { ownMutation = newValue }
    }

    private var ownIdempotence: Bool?
    /// See ``Endpoint/isIdempotent``.
    public var isIdempotent: Bool {
        get { ownIdempotence ?? !isMutation }
        set { ownIdempotence = newValue }
    }

    private var ownInvalidation: Bool?
    /// See ``Endpoint/invalidatesTarget``.
    public var invalidatesTarget: Bool {
        get { ownInvalidation ?? isMutation }
        set { ownInvalidation = newValue }
    }

    /// Creates a request.
    ///
    /// - Parameters:
    ///   - url: an absolute `http` or `https` URL, or a path below the client's environment
    ///     (``CachingClient/Configuration/environment``). It must be percent-encoded where
    ///     necessary, and may have a query. Pass user input in `query`, which encodes it. If a path
    ///     segment reads as `.` or `..`, the call fails with code `invalidURL`.
    ///   - method: the method; if it is `nil`, the task determines the method.
    ///   - task: the parameters and content. None by default.
    ///   - headers: the fields of this request.
    public init(
        _ url: String,
        as type: Response.Type = Response.self,
        method: HTTPRequest.Method? = nil,
        task: HTTPTask = .plain,
        headers: HTTPFields = [:]
    ) {
        // The first segment of a relative path cannot contain a colon (RFC 3986 §4.2), so a URL
        // with a colon there is absolute. If its scheme is not supported, the error names it.
        let isAbsolute = url.prefix { !"/?#".contains($0) }.contains(":")
        baseURL = isAbsolute ? url : ""
        path = isAbsolute ? "" : url
        self.task = task
        self.headers = headers
        namedMethod = method
    }

    /// Creates a request with parameters, which are encoded in its query.
    public init(
        _ url: String,
        as type: Response.Type = Response.self,
        query: RequestParameters,
        headers: HTTPFields = [:]
    ) {
        self.init(url, as: type, task: .query(query), headers: headers)
    }
}
