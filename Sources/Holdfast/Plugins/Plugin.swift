public import HTTPCache
public import HTTPTypes

/// Takes part in every request of a client (``CachingClient/Configuration/plugins``), or of one
/// call (``CallOptions/plugins``).
///
/// A plugin declares its abilities by the protocols that it conforms to, so plugins that change
/// something are distinct from those that only observe:
///
/// | Protocol | Hook | When |
/// |---|---|---|
/// | ``PreparingPlugin`` | `prepare` changes the request | before lookup and sending |
/// | ``ObservingPlugin`` | `willSend`, `didReceive`, `didEnd` observe | each network request |
/// | ``RecoveringPlugin`` | `recover` has the request made anew | when the origin rejected it |
/// | ``ProcessingPlugin`` | `process` changes the content | before validation and decoding |
/// | ``SubstitutingPlugin`` | `substitute` supplies content or an error | after the call failed |
///
/// Several plugins run in the order in which they are given. Those of a call run after the
/// client's.
public protocol Plugin: Sendable {}

/// Changes requests: fields, a principal, a token.
public protocol PreparingPlugin: Plugin {
    /// Changes a request before it is looked up and sent. The key is made of the changed request.
    ///
    /// It runs once for each lookup and for each request to the network. For
    /// ``CallInfo/Purpose/lookup`` it must not wait for the network, because stored responses must
    /// be available without it.
    /// - Throws: any error that prevents the request. A ``HoldfastError`` with code `loginRequired`
    ///   or `authenticationFailed` makes the call fail. After any other error the stored value is
    ///   still used, if the strategy allows it.
    func prepare(_ request: inout CacheRequest, for call: CallInfo) async throws

    /// The secrets among its additions. None by default.
    var secrets: Secrets { get }

    /// Whether it can prepare a request for the network without waiting. If not, the client reads
    /// the store before it prepares the request, so that a fresh stored value does not wait.
    /// `false` by default.
    var isReady: Bool { get }
}

extension PreparingPlugin {
    /// None.
    public var secrets: Secrets { Secrets() }
    /// `false`: it may wait.
    public var isReady: Bool { false }
}

/// Observes requests to the network and their responses. It changes nothing, and does not see
/// responses that the store serves.
///
/// It is called while the request is under way, so it must be quick.
public protocol ObservingPlugin: Plugin {
    /// Called before a request is sent, in its final form, with validators for example. Called
    /// again when the request is sent again.
    func willSend(_ request: SentRequest, for call: CallInfo)
    /// Called when the response's head came, or when the request failed.
    ///
    /// - Parameter duration: the time since the request was sent.
    func didReceive(
        _ result: Result<HTTPResponse, any Error>,
        to request: SentRequest,
        for call: CallInfo,
        after duration: Duration
    )
    /// Called once for each response, when its content ended, broke off or was abandoned.
    ///
    /// The engine abandons content if it needs only the head, as for a 304 that freshens.
    func didEnd(_ content: ReceivedContent, of response: HTTPResponse, to request: SentRequest, for call: CallInfo)
    /// Bytes from the start of the content that ``didEnd(_:of:to:for:)`` receives. They are kept in
    /// memory for it. 0 by default.
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
    /// None.
    public var contentLimit: Int { 0 }
}

/// Changes responses before they are validated and decoded.
public protocol ProcessingPlugin: Plugin {
    /// Rewrites status, fields or content. The stored response stays as it came. It is processed
    /// each time it is read, and once more if it is validated before it is stored.
    func process(_ content: inout ResponseContent, for call: CallInfo) throws
}

/// Recovers requests that the origin rejected, for example with another token.
public protocol RecoveringPlugin: Plugin {
    /// Called when the origin rejected a request.
    ///
    /// - Parameters:
    ///   - response: the head of the response.
    ///   - request: the request as it was prepared.
    /// - Returns: whether the request should be prepared and sent once more. It is called once for
    ///   each call.
    func recover(from response: HTTPResponse, to request: CacheRequest, for call: CallInfo) async throws -> Bool
}

/// A request as it is sent.
public struct SentRequest: Sendable {
    /// Method, target and fields.
    public var head: HTTPRequest
    /// The content; `nil` if there is none. Do not read a stream here.
    public var body: RequestBody?
}
