public import HTTPCache
public import HTTPTypes

/// Takes part in every request of a client: ``CachingClient/Configuration/plugins``, or of one call: ``CallOptions/plugins``.
///
/// What it does is said by the protocols it adopts, so that what may change something is told apart from what only looks:
///
/// | Protocol | Hook | When |
/// |---|---|---|
/// | ``PreparingPlugin`` | `prepare` changes the request | before it is looked up in the store and sent |
/// | ``ObservingPlugin`` | `willSend`, `didReceive` look on | for each request that goes out on the wire, and its answer |
/// | ``RecoveringPlugin`` | `recover` may have the request made anew | when the origin refused it |
/// | ``ProcessingPlugin`` | `process` changes the content | before it is validated and decoded, of the store and of the network alike |
///
/// Several plugins run in the order in which they are given.
public protocol Plugin: Sendable {}

/// Changes requests: fields, a principal, a token.
public protocol PreparingPlugin: Plugin {
    /// Changes a request before it is looked up and sent; what it makes of it is what is keyed.
    ///
    /// It runs once for each lookup and for each request to the network. For ``CallInfo/Purpose/lookup`` it must not wait for the network: what is stored is to be had without it.
    /// - Throws: whatever it cannot go on without. A value that is stored answers all the same where the strategy allows it.
    func prepare(_ request: inout CacheRequest, for call: CallInfo) async throws
}

/// Looks on while requests go out and answers come in. It changes nothing, and is not told of what the store answers.
///
/// It is called on the way of the request: it must be quick.
public protocol ObservingPlugin: Plugin {
    /// A request is about to go out, as it is on the wire: with validators, say. Called again when it is sent again.
    func willSend(_ request: SentRequest, for call: CallInfo)
    /// Its answer's head came, or none did.
    ///
    /// - Parameter duration: from the sending on.
    func didReceive(
        _ result: Result<HTTPResponse, any Error>,
        to request: SentRequest,
        for call: CallInfo,
        after duration: Duration
    )
}

extension ObservingPlugin {
    /// Nothing.
    public func willSend(_ request: SentRequest, for call: CallInfo) {}
    /// Nothing.
    public func didReceive(
        _ result: Result<HTTPResponse, any Error>,
        to request: SentRequest,
        for call: CallInfo,
        after duration: Duration
    ) {}
}

/// Changes what came, before it is validated and decoded.
public protocol ProcessingPlugin: Plugin {
    /// Rewrites status, fields or content. What is stored stays as it came: a stored response passes here each time it is read.
    func process(_ content: inout ResponseContent, for call: CallInfo) throws
}

/// Gets a request through that the origin refused: by another token, say.
public protocol RecoveringPlugin: Plugin {
    /// The origin refused.
    ///
    /// - Parameters:
    ///   - response: its head.
    ///   - request: as it was prepared.
    /// - Returns: whether the request is to be prepared and sent once more. It is asked once for each call.
    func recover(from response: HTTPResponse, to request: CacheRequest, for call: CallInfo) async throws -> Bool
}

/// A request as it goes out.
public struct SentRequest: Sendable {
    /// Method, target and fields.
    public var head: HTTPRequest
    /// The content; `nil` where there is none. A stream is not to be read here.
    public var body: RequestBody?
}
