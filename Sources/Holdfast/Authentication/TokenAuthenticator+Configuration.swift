import HTTPCache
import HTTPCacheSemantics
public import HTTPTypes
import HoldfastContent

extension TokenAuthenticator {
    /// Configures how and where tokens are sent, and when they are replaced.
    public struct Configuration: Sendable, Hashable {
        /// The origins that receive tokens. Each is a URL, whose scheme, host and port are used, or
        /// a host name, which means `https` on its default port.
        ///
        /// If the list is empty, tokens go to the origin of the client's
        /// ``ServerEnvironment/baseURL``. If there is no environment either, they go to the origins
        /// of all of the client's endpoints. List the origins if the client's endpoints have
        /// different origins.
        public var origins: [String]
        /// The field that carries the token. `Authorization` by default.
        public var field: HTTPField.Name
        /// The text before the token. `Bearer ` by default. RFC 6750 §2.1
        public var prefix: String
        /// The time before its expiry at which a token is replaced. A token with a short lifetime
        /// is replaced when three quarters of its lifetime have passed, if that is later. One
        /// minute by default.
        public var leeway: Duration
        /// The time limit for the source. 30 seconds by default.
        public var timeout: Duration
        /// The pause after a failure of the source, during which it is not called. It doubles with
        /// each consecutive failure. Each pause is shortened at random by up to half. One second by
        /// default.
        public var pause: Duration
        /// The maximum of ``pause``. One minute by default.
        public var maximumPause: Duration

        /// Creates a configuration. See the properties for the defaults.
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

    /// Returns whether a request's origin may receive tokens.
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
