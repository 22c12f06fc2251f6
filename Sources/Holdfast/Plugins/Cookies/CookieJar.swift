public import HTTPCache
import HTTPCacheSemantics
public import HTTPTypes
import Synchronization

/// Keeps the cookies that origins set, and sends them back: RFC 6265, with the limits of RFC
/// 6265bis.
///
/// ```swift
/// let jar = CookieJar()
/// configuration.plugins = [jar]
/// …
/// jar.removeAll()     // at log-out
/// ```
///
/// The jar is in memory and belongs to one user. Cookies are credentials: a stored response to a
/// request with cookies is found only by requests with the same cookies, or with the same named
/// principal. A named principal keeps stored responses available when an origin changes its
/// cookies; see <doc:KeysAndPrivacy>.
///
/// * Cookies are read only from network responses, never from stored responses.
/// * A request with its own `Cookie` field keeps that field, and gets no cookies from the jar.
/// * After a redirect, the jar's cookies for the new target are sent, including cookies that the
///   redirect set.
/// * `Domain`, `Path`, `Secure`, `Expires`, `Max-Age` and the prefixes `__Secure-` and `__Host-`
///   are respected. `HttpOnly` and `SameSite` are for browsers, and have no effect here.
/// * A domain without a dot (com) is rejected. Other public suffixes (co.uk) are not known, so do
///   not use one jar for hosts whose owners do not trust each other.
/// * A name and its value may have at most 4,096 bytes together. A domain may have at most 50
///   cookies, and the jar at most 3,000. When a limit is exceeded, expired cookies are removed or,
///   if there are none, the least recently used cookie. A cookie lasts at most 400 days.
public final class CookieJar: PreparingPlugin, ObservingPlugin {
    private struct State {
        var cookies = CookieStore()
        /// The number of the last preparation before ``removeAll()``. Responses to requests up to
        /// this number set no cookies.
        var removal: UInt64 = 0
    }

    private let state = Mutex(State())
    private let clock: any WallClock

    /// Creates an empty jar.
    ///
    /// - Parameter clock: the clock that determines which cookies have expired.
    public init(clock: any WallClock = SystemWallClock()) { self.clock = clock }

    /// The number of cookies, including expired cookies that have not been removed yet.
    public var count: Int { state.withLock { $0.cookies.count } }

    /// Removes all cookies. Responses to requests in flight set no cookies.
    ///
    /// Stored responses stay; see <doc:KeysAndPrivacy>.
    public func removeAll() {
        state.withLock { state in
            state.cookies = CookieStore()
            state.removal = CallInfo.lastPreparation
        }
    }

    /// Adds the `Cookie` field.
    public func prepare(_ request: inout CacheRequest, for call: CallInfo) async throws {
        guard !request.head.headerFields.contains(.cookie) else { return }
        setCookies(of: &request)
        let others = request.onRedirect
        request.onRedirect = { [self] in
            others?(&$0)
            setCookies(of: &$0)
        }
    }

    /// Replaces the `Cookie` field with the cookies for the request's target.
    private func setCookies(of request: inout CacheRequest) {
        request.head.headerFields[.cookie] = nil
        let now = clock.now()
        guard let target = TargetURI(request: request.head),
            let field = state.withLock({ $0.cookies.field(for: target, at: now) })
        else { return }
        // Append a single field, because HTTPFields would split the value.
        request.head.headerFields.append(HTTPField(name: .cookie, value: field))
    }

    /// Always `true`, because the jar never waits.
    public var isReady: Bool { true }

    /// Stores the cookies of a response.
    public func didReceive(
        _ result: Result<HTTPResponse, any Error>,
        to request: SentRequest,
        for call: CallInfo,
        after duration: Duration
    ) {
        guard case .success(let response) = result, let target = TargetURI(request: request.head) else { return }
        let fields = response.headerFields[values: .setCookie]
        guard !fields.isEmpty else { return }
        let now = clock.now()
        let cookies = fields.compactMap { Cookie($0, from: target, at: now) }
        state.withLock { state in
            guard call.preparation > state.removal else { return }
            for cookie in cookies { state.cookies.take(cookie, from: target, at: now) }
        }
    }
}
