public import HTTPCache
public import HTTPTypes
public import HoldfastConfiguration

/// A request that needs no type of its own: a URL, and what its response decodes to.
///
/// ```swift
/// var search = AdHocRequest<[Movie]>("https://api.example.com/search", query: ["q": "holdfast"])
/// search.storage = .expiring(.after(.seconds(600)))
/// for try await emission in client.startWith(search) { print(emission.value.count) }
/// ```
///
/// It is an ``Endpoint`` like any other: what is stored for it is shared with a declared endpoint
/// that makes the same request. A URL that is none fails the call with code `invalidURL`.
///
/// An API that is asked in more than a few places deserves a type: see ``Endpoint``.
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
    public var emptyContent = EmptyContent.isMissing
    /// See ``Endpoint/maximumBodyBytes``.
    public var maximumBodyBytes: Int?
    /// See ``Endpoint/timeout``.
    public var timeout: Duration?
    /// See ``Endpoint/retry``.
    public var retry: RetryPolicy?

    private var namedMethod: HTTPRequest.Method?
    /// The method given; else POST where the task has content, otherwise GET.
    public var method: HTTPRequest.Method {
        get { namedMethod ?? task.impliedMethod }
        set { namedMethod = newValue }
    }

    /// A request.
    ///
    /// - Parameters:
    ///   - url: an absolute `http` or `https` URL, or a path below the client's environment
    ///     (``CachingClient/Configuration/environment``). Percent-encoded where it must be; it may
    ///     have a query. Put what users typed into `query`, which encodes it. A path in which a
    ///     segment reads as `.` or `..` fails the call with code `invalidURL`.
    ///   - method: by the task where none is given.
    ///   - task: parameters and content. None unless told otherwise.
    ///   - headers: fields of this request.
    public init(
        _ url: String,
        as type: Response.Type = Response.self,
        method: HTTPRequest.Method? = nil,
        task: HTTPTask = .plain,
        headers: HTTPFields = [:]
    ) {
        // A path has no colon in its first segment (RFC 3986 §4.2): what has one is whole, and
        // where its scheme is unusable, the error names it.
        let isAbsolute = url.prefix { !"/?#".contains($0) }.contains(":")
        baseURL = isAbsolute ? url : ""
        path = isAbsolute ? "" : url
        self.task = task
        self.headers = headers
        namedMethod = method
    }

    /// A request with parameters in its query, encoded.
    public init(
        _ url: String,
        as type: Response.Type = Response.self,
        query: Parameters,
        headers: HTTPFields = [:]
    ) {
        self.init(url, as: type, task: .query(query), headers: headers)
    }
}
