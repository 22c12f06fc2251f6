import HTTPCache
import HTTPCacheSemantics
public import HTTPTypes

extension Authenticator {
    /// How tokens are sent, to whom, and when they are replaced.
    public struct Configuration: Sendable, Hashable {
        /// The origins that tokens are for: URLs whose scheme, host and port count, or host names,
        /// which mean `https` on its own port.
        ///
        /// Where none is named: that of the client's ``ServerEnvironment/baseURL``; where there is
        /// no environment, those of all endpoints of the client. So name them where endpoints of
        /// one client are at different origins.
        public var origins: [String]
        /// The field that a token is sent in. `Authorization` unless told otherwise.
        public var field: HTTPField.Name
        /// What stands before it. `Bearer ` unless told otherwise; RFC 6750 §2.1
        public var prefix: String
        /// A token is replaced so long before it expires, or after three quarters of its lifetime
        /// where that is later. One minute.
        public var leeway: Duration
        /// How long the source is waited for. 30 seconds.
        public var timeout: Duration
        /// How long a source that failed is left alone; it doubles with each further failure. One
        /// second.
        public var pause: Duration
        /// The longest pause. One minute.
        public var maximumPause: Duration

        /// See the properties.
        public init(
            origins: [String] = [],
            field: HTTPField.Name = .authorization,
            prefix: String = "Bearer ",
            leeway: Duration = .seconds(60),
            timeout: Duration = .seconds(30),
            pause: Duration = .seconds(1),
            maximumPause: Duration = .seconds(60)
        ) {
            self.origins = origins
            self.field = field
            self.prefix = prefix
            self.leeway = leeway
            self.timeout = timeout
            self.pause = pause
            self.maximumPause = maximumPause
        }

        var limits: TokenState.Limits {
            TokenState.Limits(leeway: leeway, pause: pause, maximumPause: maximumPause)
        }

        func parsedOrigins() throws -> Set<String> {
            try Set(
                origins.map { origin in
                    let text = origin.contains("://") ? origin : "https://\(origin)"
                    guard let target = try? TargetURI(text) else {
                        throw HoldfastError(
                            code: .invalidURL,
                            message:
                                "'\(Redaction.uriText(origin))' is no origin: give it as 'https://api.example.com'."
                        )
                    }
                    return target.origin
                }
            )
        }
    }

    /// Whether a request goes where tokens may go.
    func isMeant(_ head: HTTPRequest, _ call: CallInfo) -> Bool {
        guard let origin = TargetURI(request: head)?.origin else { return false }
        if !origins.isEmpty { return origins.contains(origin) }
        guard let environment = call.environment else { return true }
        return (try? TargetURI(environment.baseURL))?.origin == origin
    }
}

extension TargetURI {
    fileprivate var origin: String { "\(scheme)://\(authority)" }
}
