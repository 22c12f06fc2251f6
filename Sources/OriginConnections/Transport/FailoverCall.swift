import EventLoops
import GatewayRouting
import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import Logging
import NIOCore
import NIOPosix
import Synchronization

/// One request to an origin with several servers. It performs the decisions of ``Failover``, with
/// an ``OriginCall`` for each attempt.
///
/// Everything runs on one event loop at a time, but ``begin(_:)`` and ``cancel()`` may be called
/// from any thread.
final class FailoverCall: TransportCall {
    private typealias Result = Swift.Result<CallbackResponse, any Error>

    /// The end of an attempt. The content of its response is read only if the client gets it.
    private struct Ending {
        var result: Result
        var message: OriginRequest
        var status: Int?
    }

    private struct State {
        var failover: Failover
        /// The number of servers tried.
        var tried = 0
        /// The best ending so far.
        var best: Ending?
        /// `nil` once the result has been delivered.
        var completion: OriginCall.Completion?
        var call: OriginCall?
        var isCancelled = false
    }

    private let transport: OriginTransport
    private let request: TransportRequest
    private let endpoint: OriginEndpoint
    private let site: OriginSite
    /// The deadline of the entire request; `nil` if there is none.
    private let end: NIODeadline?
    private let start = NIODeadline.now()
    private let state: Mutex<State>

    /// - Parameter request: the request, with its content in memory if it is short.
    init(
        _ transport: OriginTransport,
        _ request: TransportRequest,
        _ endpoint: OriginEndpoint,
        _ site: OriginSite,
        isRepeatable: Bool
    ) {
        self.transport = transport
        self.request = request
        self.endpoint = endpoint
        self.site = site
        end = request.headTimeout.map { .now() + $0.timeAmount }
        // The other protocol may change data, so the request does not count as safe.
        let asked = Failover.Request(
            isSafe: request.head.method.isSafe && request.upgrade == nil,
            isRepeatable: isRepeatable,
            hasCredentials: request.hasCredentials
        )
        let failover = site.failover(of: asked, { request.asked }, at: start) { transport.probe(site, $0) }
        state = Mutex(State(failover: failover))
    }

    /// Starts the request from any thread. `completion` is called once, on an event loop.
    func begin(_ completion: @escaping OriginCall.Completion) { begin(anywhereOr: nil, completion) }

    /// Starts the request on the calling event loop, and calls `completion` there, once.
    func begin(on eventLoop: any EventLoop, _ completion: @escaping OriginCall.Completion) {
        begin(anywhereOr: eventLoop, completion)
    }

    private func begin(anywhereOr eventLoop: (any EventLoop)?, _ completion: @escaping OriginCall.Completion) {
        let first = state.withLock { state in
            state.completion = completion
            return state.failover.first { site.beginLastChance($0, at: start) }
        }
        if let first { return attempt(first, on: eventLoop) }
        let error = state.withLock { $0.failover.isDrained } ? TransportError(draining: site) : .waiting(for: site)
        (eventLoop ?? transport.group.next()).execute { self.complete(.failure(error)) }
    }

    /// - Parameter eventLoop: the loop that the attempt must run on; `nil` for any loop.
    private func attempt(_ attempt: Failover.Attempt, on eventLoop: (any EventLoop)?) {
        let server = site.servers[attempt.server]
        let request = request(for: attempt, to: server)
        let message: OriginRequest
        do {
            message = try OriginRequest.make(request, to: endpoint, server, since: start)
        } catch {
            return complete(.failure(error))
        }
        let call = OriginCall(transport, message, onInterim: request.onInformational)
        let isCancelled = state.withLock { state in
            state.call = call
            state.tried += 1
            return state.isCancelled
        }
        guard !isCancelled else { return complete(.failure(CancellationError())) }
        let completion: OriginCall.Completion = { self.finish($0, attempt, message, call, on: eventLoop) }
        guard let eventLoop else { return call.begin(completion) }
        var kept: OriginConnection?
        if case .connection(let own) = transport.pool.takeOwn(message.endpoint, of: eventLoop) { kept = own }
        call.begin(on: eventLoop, kept, completion)
    }

    /// Returns the request for one server.
    private func request(for attempt: Failover.Attempt, to server: OriginServer) -> TransportRequest {
        var request = request
        if let end {
            let share = max(end - .now(), .milliseconds(1)).nanoseconds / Int64(attempt.shares)
            request.headTimeout = .nanoseconds(share)
        }
        if attempt.isLastChance {
            request.headTimeout = min(request.headTimeout ?? ServerHealth.lastChance, ServerHealth.lastChance)
        }
        if let fields = server.mirrorFields {
            request.mayBeRelayed = false
            fields.withhold(from: &request)
            if let pass = request.onInformational {
                request.onInformational = { head in
                    var head = head
                    fields.translateInterim(&head.headerFields)
                    pass(head)
                }
            }
        }
        return request
    }

    private func finish(
        _ result: Result,
        _ attempt: Failover.Attempt,
        _ message: OriginRequest,
        _ call: OriginCall,
        on eventLoop: (any EventLoop)?
    ) {
        if attempt.isLastChance { site.endLastChance(attempt.server) }
        let outcome: Failover.Outcome
        var failure: TransportError?
        var status: Int?
        switch result {
        case .success(.response(let response)): status = response.head.status.code
        case .success(.relayed(let response)): status = response.status
        case .failure: break
        }
        switch (status, result) {
        case (let status?, _): outcome = .response(status: status)
        case (nil, .failure(let error as TransportError)):
            failure = error
            outcome = .failure(error.code, isUnsent: call.isUnsent)
        default: return complete(result)
        }
        if site.note(outcome, failure, of: attempt.server, { request.asked }, transport.logger) {
            transport.probe(site, attempt.server)
        }
        let ending = Ending(
            result: result.translated(by: site.servers[attempt.server].mirrorFields, request.head.method),
            message: message,
            status: status
        )
        let isTimeOver = end.map { $0 <= .now() } ?? false
        let (next, best) = state.withLock { state -> (Failover.Attempt?, Ending?) in
            if state.failover.keeps(outcome, of: attempt.server) { state.best = ending }
            let next = state.failover.next(
                after: outcome,
                of: attempt.server,
                isTimeOver: isTimeOver || state.isCancelled
            ) { site.beginLastChance($0, at: .now()) }
            return (next, next == nil ? state.best.take() : nil)
        }
        if let next {
            transport.logger.debug(
                "Trying another server of an origin",
                metadata: ["origin": "\(site.name)", "origin.server": "\(site.servers[next.server].name)"]
            )
            return self.attempt(next, on: eventLoop)
        }
        guard let best else { return }
        // The log names the server that the response came from, not the server that was tried last.
        if best.message.server !== message.server { best.message.note(best.status, isReused: nil) }
        complete(best.result)
    }

    private func complete(_ result: Result) {
        let (completion, tried, isRestricted) = state.withLock { state in
            (state.call, state.best) = (nil, nil)
            return (state.completion.take(), state.tried, state.failover.isRestricted)
        }
        completion?(result.naming(site, tried: tried, isRestricted: isRestricted))
    }

    /// Ends the current attempt, and starts no other.
    func cancel() {
        let call = state.withLock { state in
            state.isCancelled = true
            return state.call
        }
        call?.cancel()
    }
}

extension Result<CallbackResponse, any Error> {
    /// Returns a failure that also names the origin. A failure of one server might name only a
    /// mirror, which the reader may not know.
    fileprivate func naming(_ site: OriginSite, tried: Int, isRestricted: Bool) -> Self {
        guard case .failure(var error as TransportError) = self else { return self }
        error.leavesServersUnasked = isRestricted
        guard tried > 1 else { return .failure(error) }
        error.message =
            "None of the \(tried) servers tried for '\(site.name)' returned a usable response. One of them: \(error.message)"
        return .failure(error)
    }

    /// Returns the response as the origin would have sent it.
    fileprivate func translated(by fields: MirrorFields?, _ method: HTTPRequest.Method) -> Self {
        guard let fields, case .success(.response(var response)) = self else { return self }
        fields.translate(&response.head, to: method)
        return .success(.response(response))
    }
}

extension TransportError {
    /// The error for an origin whose servers are all drained.
    fileprivate init(draining site: OriginSite) {
        let message =
            "An operator drained every server of '\(site.name)' that may get this request. "
            + "'holdfast origins' shows until when, and 'holdfast drain SERVER --end' ends it."
        self.init(code: .drained, message: message)
    }

    /// The error for an origin whose own servers are set aside.
    fileprivate static func waiting(for site: OriginSite) -> TransportError {
        let message = "'\(site.name)' is not responding, and this request may not be sent to its mirrors."
        return TransportError(code: .connectTimeout, message: message)
    }
}
