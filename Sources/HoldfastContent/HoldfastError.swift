public import HTTPTypes

/// An error of the request layer: the reason that a request has no value.
public struct HoldfastError: Error, Sendable, CustomStringConvertible {
    /// The kind of error, for programs. New codes may be added, so compare with `==` and handle
    /// unknown codes.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The code's name.
        public let description: String
        /// The endpoint's base URL and path do not form an `http` or `https` URL.
        public static let invalidURL = Code(description: "invalidURL")
        /// Neither the endpoint nor the client's environment has a base URL.
        public static let urlMissing = Code(description: "urlMissing")
        /// A task that needs parameters has none.
        public static let parametersMissing = Code(description: "parametersMissing")
        /// The endpoint's own rule contradicts itself or has a value out of range, or its tags are
        /// invalid.
        public static let invalidRule = Code(description: "invalidRule")
        /// Parameters or content could not be encoded.
        public static let encodingFailed = Code(description: "encodingFailed")
        /// Nothing usable is stored, and the mode forbids network use.
        public static let offlineMiss = Code(description: "offlineMiss")
        /// A response is stored, but a directive, a limit or an invalidation forbids its use
        /// without validation. The origin is unreachable or must not be contacted.
        public static let staleForbidden = Code(description: "staleForbidden")
        /// The origin is unreachable, and nothing usable is stored.
        public static let originUnreachable = Code(description: "originUnreachable")
        /// Too many requests to the origin are in flight, or this process has no connection
        /// available. Nothing was sent. The origin may be healthy, so a later attempt may succeed.
        public static let overloaded = Code(description: "overloaded")
        /// The exchange failed in another way. For example, the response was not HTTP, or the
        /// request could not be sent.
        public static let transportFailed = Code(description: "transportFailed")
        /// The response broke off. No part of it was stored; a download keeps its part if it can be
        /// resumed.
        public static let truncated = Code(description: "truncated")
        /// The response's status is not one that the endpoint accepts; see ``HoldfastError/status``
        /// and ``HoldfastError/body``.
        public static let status = Code(description: "status")
        /// A redirect could not be followed: it is part of a loop, is the eleventh, has an invalid
        /// `Location`, leads from `https` to `http`, or requires sending content that can be read
        /// only once. See `RedirectPolicy`.
        public static let redirectFailed = Code(description: "redirectFailed")
        /// The next page could not be requested: there are more pages than the limit, the pages are
        /// a loop, or the link is invalid or leads to another origin. See `CachingClient.pages`.
        public static let paginationFailed = Code(description: "paginationFailed")
        /// The endpoint is a mutation, which must not be sent again, but the caller repeats its
        /// request: it is a query, or it follows links to further pages.
        public static let notRepeatable = Code(description: "notRepeatable")
        /// The origin requires credentials that the request did not have, or rejected them (401,
        /// 407), or no credentials could be obtained.
        public static let authenticationFailed = Code(description: "authenticationFailed")
        /// No token can be obtained until the user logs in again. This is final: the token source
        /// is not called again until then.
        public static let loginRequired = Code(description: "loginRequired")
        /// The origin no longer serves the resource (410), or no longer serves it to this version
        /// of the client (426).
        public static let outdated = Code(description: "outdated")
        /// The call exceeded its time limit.
        public static let timeout = Code(description: "timeout")
        /// The content reports that the request failed; see ``HoldfastError/envelope``.
        public static let envelope = Code(description: "envelope")
        /// A step or a validation rejected the value as malformed, or the content is not a GraphQL
        /// response; see ``HoldfastError/rejected`` and ``HoldfastError/body``.
        public static let dataFormat = Code(description: "dataFormat")
        /// A call was started without a client: it does not have its own, and
        /// `CachingClient.current` is not set. Or
        /// `TokenAuthenticator.signOutAndRemoveResponses()` found no client, so it removed nothing.
        public static let noClient = Code(description: "noClient")
        /// The response has no content, but a value was expected.
        public static let noData = Code(description: "noData")
        /// The content cannot be decoded as the expected type; see ``HoldfastError/codingPath`` and
        /// ``HoldfastError/body``. The stored response stays.
        public static let decodingFailed = Code(description: "decodingFailed")
        /// The content exceeds the limit of the call, the endpoint or the client.
        public static let bodyTooLarge = Code(description: "bodyTooLarge")
        /// A file could not be created, written or moved into place, or may not be replaced.
        public static let fileFailed = Code(description: "fileFailed")
        /// The client or its store was closed.
        public static let closed = Code(description: "closed")
        /// The caller canceled the call.
        public static let cancelled = Code(description: "cancelled")

        /// Creates a custom code, for errors of plugins and steps. Codes with equal names are
        /// equal.
        public init(_ name: String) { self.init(description: name) }
        private init(description: String) { self.description = description }
    }

    /// See ``Code``.
    public var code: Code
    /// The failure, what it concerns, the limit if there is one, and the next step. The message
    /// contains no credentials. If it names a URL, the URL has its query, in which only the values
    /// of secret parameters are hidden.
    public var message: String
    /// The response's status, if there was a response.
    public var status: HTTPResponse.Status?
    /// The response's content, if it was read: at most 1 MiB if the status was rejected; the whole
    /// content if it reports a failure, could not be decoded, or was rejected by a step or a
    /// validation.
    public var body: [UInt8]?
    /// The path in the content where decoding failed. It is empty for the top level.
    public var codingPath: ValuePath?
    /// The failure that the content reports.
    public var envelope: EnvelopeResult?
    /// The value that a step rejected.
    public var rejected: (any Sendable)?
    /// The underlying error.
    public var cause: (any Error)?

    /// Creates an error of the request layer.
    public init(
        code: Code,
        message: String,
        status: HTTPResponse.Status? = nil,
        body: [UInt8]? = nil,
        codingPath: ValuePath? = nil,
        envelope: EnvelopeResult? = nil,
        rejected: (any Sendable)? = nil,
        cause: (any Error)? = nil
    ) {
        self.code = code
        self.message = message
        self.status = status
        self.body = body
        self.codingPath = codingPath
        self.envelope = envelope
        self.rejected = rejected
        self.cause = cause
    }

    /// The message.
    public var description: String { message }
}
