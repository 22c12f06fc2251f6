import HTTPCacheSemantics
import HTTPTypes

// Shared by the suites in 'Attacks'.

/// The target of a request with these parts on the wire; `nil` if they are refused.
func wire(_ path: String, scheme: String = "https", authority: String = "a.example") -> TargetURI? {
    TargetURI(request: HTTPRequest(method: .get, scheme: scheme, authority: authority, path: path))
}

extension CachePolicy {
    /// Whether the policy stores a response with these fields.
    func verdict(
        on pairs: [(String, String)],
        status: Int = 200,
        request own: [(String, String)] = [],
        hasCredentials: Bool = false
    ) -> Storability {
        storability(of: response(pairs, status: status), to: request(own), hasCredentials: hasCredentials)
    }
}
