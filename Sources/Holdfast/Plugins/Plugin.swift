public import HTTPCache
public import HTTPTypes

/// Takes part in every request of a client: ``CachingClient/Configuration/plugins``, or of one
/// call: ``CallOptions/plugins``.
///
/// What it does is said by the protocols it adopts, so that what may change something is told apart
/// from what only looks:
///
/// | Protocol | Hook | When |
/// |---|---|---|
/// | ``PreparingPlugin`` | `prepare` changes the request | before it is looked up in the store and sent |
/// | ``ObservingPlugin`` | `willSend`, `didReceive`, `didEnd` look on | for each request that goes out on the wire, and its answer |
/// | ``RecoveringPlugin`` | `recover` may have the request made anew | when the origin refused it |
/// | ``ProcessingPlugin`` | `process` changes the content | before it is validated and decoded, of the store and of the network alike |
/// | ``SubstitutingPlugin`` | `substitute` puts content, or another error, in the place of a response that did not come | when the call failed, after retries and stored values |
///
/// Several plugins run in the order in which they are given, those of a call after the client's.
public protocol Plugin: Sendable {}

/// Changes requests: fields, a principal, a token.
public protocol PreparingPlugin: Plugin {
    /// Changes a request before it is looked up and sent; what it makes of it is what is keyed.
    ///
    /// It runs once for each lookup and for each request to the network. For
    /// ``CallInfo/Purpose/lookup`` it must not wait for the network: what is stored is to be had
    /// without it.
    /// - Throws: whatever it cannot go on without. Where it is ``HoldfastError`` with code
    ///   `loginRequired` or `authenticationFailed`, the call fails with it; otherwise a value that
    ///   is stored answers all the same where the strategy allows it.
    func prepare(_ request: inout CacheRequest, for call: CallInfo) async throws

    /// What of that which it adds is a secret. Nothing unless told otherwise.
    var secrets: Secrets { get }

    /// Whether a request for the network is prepared without waiting for anything. Where it is not,
    /// the store is looked into before it is prepared, so that what is stored and fresh does not
    /// wait. `false` unless told otherwise.
    var isReady: Bool { get }
}

extension PreparingPlugin {
    /// None.
    public var secrets: Secrets { Secrets() }
    /// Not known.
    public var isReady: Bool { false }
}

/// Looks on while requests go out and answers come in. It changes nothing, and is not told of what
/// the store answers.
///
/// It is called on the way of the request: it must be quick.
public protocol ObservingPlugin: Plugin {
    /// A request is about to go out, as it is on the wire: with validators, say. Called again when
    /// it is sent again.
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
    /// The content of its answer came to its end, broke off, or was given up; once for each answer.
    ///
    /// Where the request's head was all that mattered, the engine gives the content up: a 304 that
    /// freshens, say.
    func didEnd(_ content: ReceivedContent, of response: HTTPResponse, to request: SentRequest, for call: CallInfo)
    /// Bytes of content, from the beginning, that ``didEnd(_:of:to:for:)`` is told; they are kept
    /// in memory for it. 0 unless told otherwise.
    var contentLimit: Int { get }
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
    /// Nothing.
    public func didEnd(
        _ content: ReceivedContent,
        of response: HTTPResponse,
        to request: SentRequest,
        for call: CallInfo
    ) {}
    /// None.
    public var contentLimit: Int { 0 }
}

/// Changes what came, before it is validated and decoded.
public protocol ProcessingPlugin: Plugin {
    /// Rewrites status, fields or content. What is stored stays as it came: a stored response
    /// passes here each time it is read, and one that is validated before it is stored passes once
    /// more for that.
    func process(_ content: inout ResponseContent, for call: CallInfo) throws
}

/// Gets a request through that the origin refused: by another token, say.
public protocol RecoveringPlugin: Plugin {
    /// The origin refused.
    ///
    /// - Parameters:
    ///   - response: its head.
    ///   - request: as it was prepared.
    /// - Returns: whether the request is to be prepared and sent once more. It is asked once for
    ///   each call.
    func recover(from response: HTTPResponse, to request: CacheRequest, for call: CallInfo) async throws -> Bool
}

/// A request as it goes out.
public struct SentRequest: Sendable {
    /// Method, target and fields.
    public var head: HTTPRequest
    /// The content; `nil` where there is none. A stream is not to be read here.
    public var body: RequestBody?
}
