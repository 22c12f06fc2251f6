package import HTTPTypes

/// The redirects of one call. It takes each response and returns the next step. RFC 9110 §15.4
///
/// ```swift
/// var chain = RedirectChain()
/// switch chain.decide(after: response, to: request, secretFields: [], mayRepeatContent: true) {
/// case .deliver: deliver(response)
/// case .follow(let redirect): send(redirect.head)
/// case .fail(let fault): report(fault)
/// }
/// ```
package struct RedirectChain: Sendable {
    /// The next step.
    package enum Decision: Sendable, Hashable {
        /// The response is not a redirect.
        case deliver
        /// Send this request next.
        case follow(Redirect)
        /// The redirect cannot be followed.
        case fail(RedirectFault)
    }

    /// The identity of a request, for detecting loops: its method and its target. A form that
    /// redirects a POST to its own URL, which is then read with GET, is not a loop.
    private struct Visit: Hashable {
        var method: HTTPRequest.Method
        var target: TargetURI
    }

    /// The maximum number of redirects to follow. RFC 9110 leaves the number to the client.
    package static let limit = 10

    private var visited: Set<Visit> = []
    /// The number of redirects that were followed.
    package private(set) var count = 0

    package init() {}

    /// - Parameters:
    ///   - request: the request that led to the response.
    ///   - secretFields: names of fields that are secrets, in addition to those known by name.
    ///   - mayRepeatContent: whether the request's content, if it has any, can be sent once more.
    package mutating func decide(
        after response: HTTPResponse,
        to request: HTTPRequest,
        secretFields: Set<HTTPField.Name>,
        mayRepeatContent: Bool
    ) -> Decision {
        guard response.status.isRedirect else { return .deliver }
        let redirect: Redirect
        switch Redirect.make(of: response, to: request, secretFields: secretFields) {
        case nil: return .deliver
        case .failure(let fault): return .fail(fault)
        case .success(let next): redirect = next
        }
        guard !redirect.keepsContent || mayRepeatContent else { return .fail(.contentIsGone) }
        if let target = TargetURI(request: request) { visited.insert(Visit(method: request.method, target: target)) }
        guard visited.insert(Visit(method: redirect.head.method, target: redirect.target)).inserted else {
            return .fail(.loop)
        }
        guard count < Self.limit else { return .fail(.tooMany) }
        count += 1
        return .follow(redirect)
    }
}

/// The reason that a redirect cannot be followed.
package enum RedirectFault: Error, Sendable, Hashable {
    /// The same request was already sent in this call.
    case loop
    /// There are more than ``RedirectChain/limit`` redirects.
    case tooMany
    /// `Location` is not an `http` or `https` URL or a reference, contains user information, or
    /// occurs twice with different values.
    case invalidLocation
    /// The redirect leads from `https` to `http`.
    case insecure
    /// The request's content must be sent again, but can be read only once.
    case contentIsGone
}

extension HTTPResponse.Status {
    /// Whether a response with this status and a `Location` refers to another URL. RFC 9110 §15.4
    ///
    /// 300 offers a choice, 304 is about a stored response, and 305 and 306 are obsolete.
    package var isRedirect: Bool {
        switch code {
        case 301, 302, 303, 307, 308: true
        default: false
        }
    }
}
