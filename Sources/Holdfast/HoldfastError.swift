import HTTPCache
public import HTTPTypes

/// Why a request of the request layer has no value.
public struct HoldfastError: Error, Sendable, CustomStringConvertible {
    /// What went wrong, for programs. New codes may be added; compare with `==` and keep a way for
    /// unknown ones.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The code's name.
        public let description: String
        /// Base URL and path of the endpoint make no `http` or `https` URL.
        public static let invalidURL = Code(description: "invalidURL")
        /// Neither the endpoint nor the client's environment names a base URL.
        public static let urlMissing = Code(description: "urlMissing")
        /// A task that needs parameters has none.
        public static let parametersMissing = Code(description: "parametersMissing")
        /// The endpoint's own rule contradicts itself, or is out of bounds; so are its tags.
        public static let invalidRule = Code(description: "invalidRule")
        /// Parameters or content could not be encoded.
        public static let encodingFailed = Code(description: "encodingFailed")
        /// Nothing usable is stored, and the network may not be asked.
        public static let offlineMiss = Code(description: "offlineMiss")
        /// What is stored is stale, a directive forbids its use, and the origin may not be asked or
        /// cannot be reached.
        public static let staleForbidden = Code(description: "staleForbidden")
        /// The origin could not be reached, and nothing usable is stored.
        public static let originUnreachable = Code(description: "originUnreachable")
        /// Too many requests are under way to the origin, or this process has no connection left
        /// for it. Nothing was sent, and nothing is said of the origin: a later try may succeed.
        public static let overloaded = Code(description: "overloaded")
        /// The exchange failed in another way: no HTTP came back, or the request could not be sent.
        public static let transportFailed = Code(description: "transportFailed")
        /// The response broke off. Nothing of it was stored.
        public static let truncated = Code(description: "truncated")
        /// The response's status is not one that the endpoint accepts; see ``HoldfastError/status``
        /// and ``HoldfastError/body``.
        public static let status = Code(description: "status")
        /// The origin wants credentials that the request did not have, or no longer takes them
        /// (401, 407), or none could be had.
        public static let authenticationFailed = Code(description: "authenticationFailed")
        /// No token is to be had any more before the user has logged in again. It is final: the
        /// source of tokens is not asked again until then.
        public static let loginRequired = Code(description: "loginRequired")
        /// The origin no longer serves what was asked for, or not this version of the client (410,
        /// 426).
        public static let outdated = Code(description: "outdated")
        /// The call took longer than its timeout allows.
        public static let timeout = Code(description: "timeout")
        /// The content says itself that the request failed; see ``HoldfastError/envelope``.
        public static let envelope = Code(description: "envelope")
        /// A step found the value not in the form it needs; see ``HoldfastError/rejected``.
        public static let dataFormat = Code(description: "dataFormat")
        /// A call was started without a client: none was passed, and ``CachingClient/current`` is
        /// not set.
        public static let noClient = Code(description: "noClient")
        /// The response has no content where a value was expected.
        public static let noData = Code(description: "noData")
        /// The content is no value of the expected type; see ``HoldfastError/codingPath`` and
        /// ``HoldfastError/body``. What is stored stays.
        public static let decodingFailed = Code(description: "decodingFailed")
        /// The content is larger than the client accepts.
        public static let bodyTooLarge = Code(description: "bodyTooLarge")
        /// A file could not be made, written or put in its place. What stood there before still
        /// does.
        public static let fileFailed = Code(description: "fileFailed")
        /// The client was closed.
        public static let closed = Code(description: "closed")
        /// The caller gave up.
        public static let cancelled = Code(description: "cancelled")

        /// A code of one's own, for the errors of plugins and steps. Its name is what tells it from
        /// others.
        public init(_ name: String) { self.init(description: name) }
        private init(description: String) { self.description = description }
    }

    /// See ``Code``.
    public var code: Code
    /// What failed, on what, the limit where there is one, and what to do next. It holds no query
    /// values or credentials.
    public var message: String
    /// The response's status, where there was a response.
    public var status: HTTPResponse.Status?
    /// The response's content, where it was read: of a refused status, of a failed envelope, or of
    /// what could not be decoded.
    public var body: [UInt8]?
    /// Where in the content decoding failed. The top level is an empty path.
    public var codingPath: ValuePath?
    /// What the content says itself of the failure.
    public var envelope: EnvelopeResult?
    /// The value that a step could not use.
    public var rejected: (any Sendable)?
    /// The failure beneath this one.
    public var cause: (any Error)?

    /// An error of the request layer.
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

extension HoldfastError {
    /// Whether it says that the origin could not answer, or not in time, or was not asked, rather
    /// than what it answered.
    var isOfTheNetwork: Bool {
        switch code {
        case .originUnreachable, .overloaded, .truncated, .transportFailed, .timeout, .offlineMiss: true
        case .status: status?.kind == .serverError
        default: false
        }
    }

    /// Whether it says that a response came and its content is not what the call takes: for the
    /// call that is as if none had come. What the origin says of itself (a status, an envelope,
    /// GraphQL errors) is none of this.
    var isOfTheContent: Bool {
        switch code {
        case .decodingFailed, .noData, .dataFormat: true
        default: false
        }
    }

    /// The error as the request layer names it.
    init(_ error: any Error, target: String) {
        switch error {
        case let error as HoldfastError: self = error
        case is CancellationError: self.init(code: .cancelled, message: "The request for '\(target)' was cancelled.")
        case let error as ExchangeError:
            self.init(code: Code(error.code), message: error.message, cause: error.cause ?? error)
        case BodyStreamError.tooLarge(let limit):
            self.init(
                code: .bodyTooLarge,
                message: "The response for '\(target)' has more than \(limit) bytes, the limit for decoding. "
                    + "Raise 'maximumBodyBytes', or stream the response.",
                cause: error
            )
        case BodyStreamError.truncated(let expected, let received):
            self.init(
                code: .truncated,
                message:
                    "The response for '\(target)' broke off after \(received) of \(expected) bytes. It was not stored.",
                cause: error
            )
        case let error as DecodingError:
            self.init(
                code: .decodingFailed,
                message: "The content of '\(target)' could not be decoded: \(error.faultWithoutValues)",
                codingPath: error.codingPath,
                cause: error
            )
        case let error as TransportError:
            self.init(
                code: error.code.isUnreachable ? .truncated : .transportFailed,
                message: "The response for '\(target)' broke off: \(error.message)",
                cause: error
            )
        default:
            self.init(
                code: .transportFailed,
                message: "The request for '\(target)' failed: \(type(of: error)).",
                cause: error
            )
        }
    }
}

extension HoldfastError {
    /// Why a request could not be made: nothing was sent. What a plugin waits for may have failed
    /// as a response does, and is none of this request.
    init(preparing error: any Error, for endpoint: any Endpoint) {
        let target = "\(type(of: endpoint))"
        guard error is TransportError || error is BodyStreamError else {
            self.init(error, target: target)
            return
        }
        self.init(
            code: .transportFailed,
            message:
                "The request for '\(target)' could not be made, because what a plugin needed for it failed: \(type(of: error)).",
            cause: error
        )
    }
}

extension HoldfastError.Code {
    fileprivate init(_ code: ExchangeError.Code) {
        switch code {
        case .offlineMiss: self = .offlineMiss
        case .staleForbidden: self = .staleForbidden
        case .originUnreachable: self = .originUnreachable
        case .overloaded: self = .overloaded
        case .invalidTarget: self = .invalidURL
        case .shutDown: self = .closed
        default: self = .transportFailed
        }
    }
}
