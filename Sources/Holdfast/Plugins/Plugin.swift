public import HTTPCache
public import HTTPTypes

/// Takes part in every request of a client (``CachingClient/Configuration/plugins``) or of one call
/// (``CallOptions/plugins``).
///
/// A plugin declares its abilities by conforming to protocols, so plugins that change something are
/// distinct from plugins that only observe:
///
/// | Protocol | Hook | When |
/// |---|---|---|
/// | ``PreparingPlugin`` | `prepare` changes the request | before lookup and sending |
/// | ``ObservingPlugin`` | `willSend`, `didReceive`, `didEnd` observe | on each network request |
/// | ``RecoveringPlugin`` | `recover` decides about a retry | after the origin rejected it |
/// | ``ProcessingPlugin`` | `process` changes the content | before validation and decoding |
/// | ``SubstitutingPlugin`` | `substitute` supplies content or an error | after the call failed |
///
/// Plugins run in the order in which they are listed. A call's plugins run after the client's
/// plugins.
public protocol Plugin: Sendable {}

/// Changes requests, for example by adding fields, a principal or a token.
public protocol PreparingPlugin: Plugin {
    /// Changes a request before it is looked up and sent. The cache key is derived from the changed
    /// request.
    ///
    /// This runs for each lookup, before each request is sent, and again after a
    /// ``RecoveringPlugin`` recovers the request. It does not run again for a retry, which sends
    /// the same request. It does not run for a request that follows a redirect either: such a
    /// request gets the fields of the previous request, and other origins get no credentials. For
    /// ``CallInfo/Purpose/lookup``, it must not wait for the network, because stored responses must
    /// be available without the network.
    /// - Throws: any error that prevents the request. After a `HoldfastError` with code
    ///   `loginRequired` or `authenticationFailed`, the call fails. After any other error, the
    ///   stored value is still used if the strategy allows it.
    func prepare(_ request: inout CacheRequest, for call: CallInfo) async throws

    /// The secrets that the plugin adds. None by default.
    var secrets: Secrets { get }

    /// Whether the plugin can prepare a network request without waiting. If it cannot, the client
    /// reads the store before it prepares the request, so that a fresh stored value is not delayed.
    /// `false` by default.
    var isReady: Bool { get }
}

extension PreparingPlugin {
    /// No secrets.
    public var secrets: Secrets { Secrets() }
    /// Always `false`, because the plugin may wait.
    public var isReady: Bool { false }
}

/// Observes network requests and their responses. It cannot change them, and does not see responses
/// that the store serves.
///
/// Its methods are called while a request is in flight, so they must return quickly.
public protocol ObservingPlugin: Plugin {
    /// Called before a request is sent, with the request in its final form, including validators.
    /// Called again if the request is retried.
    func willSend(_ request: SentRequest, for call: CallInfo)
    /// Called when the response's head arrives, or when the request fails.
    ///
    /// - Parameter duration: the time since the request was sent.
    func didReceive(
        _ result: Result<HTTPResponse, any Error>,
        to request: SentRequest,
        for call: CallInfo,
        after duration: Duration
    )
    /// Called once for each response, when its content has ended, broken off or been abandoned.
    ///
    /// The engine abandons content if it needs only the head. An example is a 304 that freshens a
    /// stored response.
    func didEnd(_ content: ReceivedContent, of response: HTTPResponse, to request: SentRequest, for call: CallInfo)
    /// The maximum number of bytes from the start of the content that ``didEnd(_:of:to:for:)``
    /// receives. The bytes are kept in memory until then. 0 by default.
    var contentLimit: Int { get }
}

extension ObservingPlugin {
    /// Does nothing.
    public func willSend(_ request: SentRequest, for call: CallInfo) {}
    /// Does nothing.
    public func didReceive(
        _ result: Result<HTTPResponse, any Error>,
        to request: SentRequest,
        for call: CallInfo,
        after duration: Duration
    ) {}
    /// Does nothing.
    public func didEnd(
        _ content: ReceivedContent,
        of response: HTTPResponse,
        to request: SentRequest,
        for call: CallInfo
    ) {}
    /// Always 0.
    public var contentLimit: Int { 0 }
}

/// Changes responses before they are validated and decoded.
public protocol ProcessingPlugin: Plugin {
    /// Rewrites the status, fields or content. The stored response does not change. The plugin
    /// processes a response on every read, and once more if the response is validated before it is
    /// stored.
    func process(_ content: inout ResponseContent, for call: CallInfo) throws
}

/// Recovers requests that the origin rejected, for example by using another token.
public protocol RecoveringPlugin: Plugin {
    /// Called when the origin has responded with a status that the call does not accept. If several
    /// plugins can recover requests, they are called in order until one returns `true`.
    ///
    /// - Parameters:
    ///   - response: the head of the response.
    ///   - request: the request as prepared.
    /// - Returns: whether the request should be prepared and sent once more. The response to that
    ///   request is final.
    func recover(from response: HTTPResponse, to request: CacheRequest, for call: CallInfo) async throws -> Bool
}

/// A request in the form in which it is sent.
public struct SentRequest: Sendable {
    /// The method, target and fields.
    public var head: HTTPRequest
    /// The content; `nil` if there is none. Do not read a stream here.
    public var body: RequestBody?
}
