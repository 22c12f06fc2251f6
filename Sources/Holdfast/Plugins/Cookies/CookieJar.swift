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
/// The jar is in memory and belongs to one user. Cookies are credentials: the response to a request
/// with cookies is found only by requests with the same cookies, or with the same named principal.
/// A name keeps stored responses available when an origin changes its cookies; see
/// <doc:KeysAndPrivacy>.
///
/// * Cookies are read from responses of the network, never from stored ones.
/// * A request that has a `Cookie` field of its own keeps it, and gets none of the jar's.
/// * After a redirect, the jar's cookies for the new target are sent, including those that the
///   redirect set.
/// * `Domain`, `Path`, `Secure`, `Expires`, `Max-Age` and the prefixes `__Secure-` and `__Host-`
///   are obeyed. `HttpOnly` and `SameSite` are for browsers and have no effect.
/// * A domain without a dot (com) is rejected. Other public suffixes (co.uk) are not known, so do
///   not use one jar for hosts whose owners do not trust each other.
/// * A name and its value have at most 4,096 bytes, and a domain has at most 50 cookies, the jar
///   3,000. Beyond that, the cookie that was unused for longest is removed. A cookie lasts at most
///   400 days.
public final class CookieJar: PreparingPlugin, ObservingPlugin {
    private struct State {
        var cookies = CookieStore()
        /// Responses to requests that were prepared up to this one set no cookies.
        var removal: UInt64 = 0
    }

    private let state = Mutex(State())
    private let clock: any WallClock

    /// Creates an empty jar.
    ///
    /// - Parameter clock: decides which cookies have expired.
    public init(clock: any WallClock = SystemWallClock()) { self.clock = clock }

    /// The number of cookies, including expired ones that were not removed yet.
    public var count: Int { state.withLock { $0.cookies.count } }

    /// Removes all cookies. Responses to requests that are under way set none.
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

    /// Replaces the `Cookie` field by the cookies of the request's target.
    private func setCookies(of request: inout CacheRequest) {
        request.head.headerFields[.cookie] = nil
        let now = clock.now()
        guard let target = TargetURI(request: request.head),
            let field = state.withLock({ $0.cookies.field(for: target, at: now) })
        else { return }
        // As one field: HTTPFields would split it.
        request.head.headerFields.append(HTTPField(name: .cookie, value: field))
    }

    /// `true`: it never waits.
    public var isReady: Bool { true }

    /// Takes the cookies of a response.
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
