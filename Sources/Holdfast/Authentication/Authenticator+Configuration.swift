import HTTPCache
import HTTPCacheSemantics
public import HTTPTypes

extension Authenticator {
    /// How and where tokens are sent, and when they are replaced.
    public struct Configuration: Sendable, Hashable {
        /// The origins that receive tokens: URLs, of which scheme, host and port are used, or host
        /// names, which mean `https` on its default port.
        ///
        /// If none is named, the origin of the client's ``ServerEnvironment/baseURL`` receives
        /// them; without an environment, the origins of all endpoints of the client. So name them
        /// if endpoints of one client have different origins.
        public var origins: [String]
        /// The field of the token. `Authorization` by default.
        public var field: HTTPField.Name
        /// The text before the token. `Bearer ` by default; RFC 6750 §2.1
        public var prefix: String
        /// A token is replaced this long before it expires, or after three quarters of its lifetime
        /// if that is later. One minute by default.
        public var leeway: Duration
        /// How long to wait for the source. 30 seconds by default.
        public var timeout: Duration
        /// How long a source is not called after it failed. It doubles with each further failure.
        /// One second by default.
        public var pause: Duration
        /// The longest pause. One minute by default.
        public var maximumPause: Duration

        /// Creates a configuration; see the properties.
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
                                "'\(Redaction.uriText(origin))' is not an origin. Use a form such as 'https://api.example.com'."
                        )
                    }
                    return target.origin
                }
            )
        }
    }

    /// Whether a request's origin may receive tokens.
    func mayReceiveToken(_ head: HTTPRequest, _ call: CallInfo) -> Bool {
        guard let origin = TargetURI(request: head)?.origin else { return false }
        if !origins.isEmpty { return origins.contains(origin) }
        guard let environment = call.environment else { return true }
        return (try? TargetURI(environment.baseURL))?.origin == origin
    }
}

extension TargetURI {
    fileprivate var origin: String { "\(scheme)://\(authority)" }
}
