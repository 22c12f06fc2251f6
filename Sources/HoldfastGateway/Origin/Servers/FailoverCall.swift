import HTTPCache
import HTTPTypes
import Logging
import NIOCore
import NIOPosix
import Synchronization

/// One request to an origin with several servers: it performs what ``Failover`` decides, with an
/// ``OriginCall`` for each attempt.
///
/// Everything happens on one event loop after another; only ``cancel()`` may be called from
/// anywhere.
final class FailoverCall: TransportCall {
    private struct State {
        var failover: Failover
        /// The number of servers that were tried.
        var tried = 0
        /// `nil` once the result has been handed over.
        var completion: OriginCall.Completion?
        var call: OriginCall?
        var isCancelled = false
    }

    private let transport: OriginTransport
    private let request: TransportRequest
    private let endpoint: OriginEndpoint
    private let site: OriginSite
    /// When the time for the whole request is over; `nil` if it has no limit.
    private let end: NIODeadline?
    private let start = NIODeadline.now()
    private let state: Mutex<State>

    /// - Parameter request: with its content in memory if it is short.
    init(
        _ transport: OriginTransport,
        _ request: TransportRequest,
        _ endpoint: OriginEndpoint,
        _ site: OriginSite,
        _ failover: Failover
    ) {
        self.transport = transport
        self.request = request
        self.endpoint = endpoint
        self.site = site
        end = request.headTimeout.map { .now() + $0.timeAmount }
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
            return state.failover.take { site.begin($0, at: start) }
        }
        guard let first else { return }
        attempt(first, on: eventLoop)
    }

    /// - Parameter eventLoop: the loop on which it must happen; `nil`: any.
    private func attempt(_ attempt: Failover.Attempt, on eventLoop: (any EventLoop)?) {
        let begun = NIODeadline.now()
        var request = request
        if let end {
            let share = max(end - begun, .milliseconds(1)).nanoseconds / Int64(attempt.shares)
            request.headTimeout = .nanoseconds(share)
        }
        let server = site.servers[attempt.server]
        if let fields = server.mirrorFields {
            request.mayBeRelayed = false
            if let pass = request.onInformational {
                request.onInformational = { head in
                    var head = head
                    fields.translate(&head.headerFields)
                    pass(head)
                }
            }
        }
        let message: OriginRequest
        do {
            message = try OriginRequest.make(request, to: endpoint, server, since: start)
        } catch {
            site.release(attempt.server, begun: begun)
            return complete(.failure(error))
        }
        let call = OriginCall(transport, message, onInterim: request.onInformational)
        let isCancelled = state.withLock { state in
            state.call = call
            state.tried += 1
            return state.isCancelled
        }
        guard !isCancelled else {
            site.release(attempt.server, begun: begun)
            return complete(.failure(CancellationError()))
        }
        let completion: OriginCall.Completion = { self.finish($0, attempt.server, call, begun, on: eventLoop) }
        guard let eventLoop else { return call.begin(completion) }
        var kept: OriginConnection?
        if case .connection(let own) = transport.pool.takeOwn(message.endpoint, of: eventLoop) { kept = own }
        call.begin(on: eventLoop, kept, completion)
    }

    private func finish(
        _ result: Result<CallbackResponse, any Error>,
        _ number: Int,
        _ call: OriginCall,
        _ begun: NIODeadline,
        on eventLoop: (any EventLoop)?
    ) {
        let outcome: Failover.Outcome
        switch result {
        case .success(.response(let response)): outcome = .response(status: response.head.status.code)
        case .success(.relayed(let response)): outcome = .response(status: response.status)
        case .failure(let error as TransportError): outcome = .failure(error.code, isUnsent: call.isUnsent)
        case .failure:
            site.release(number, begun: begun)
            return complete(result)
        }
        site.note(outcome, of: number, begun: begun, transport.logger)
        let isTimeOver = end.map { $0 <= .now() } ?? false
        let next = state.withLock { state -> Failover.Attempt? in
            guard !state.isCancelled else { return nil }
            return state.failover.next(after: outcome, isTimeOver: isTimeOver) { site.begin($0, at: .now()) }
        }
        guard let next else {
            let result = result.naming(site, tried: state.withLock { $0.tried })
            return complete(result.translated(by: site.servers[number].mirrorFields))
        }
        transport.logger.debug(
            "Trying another server of an origin",
            metadata: ["origin": "\(site.name)", "origin.server": "\(site.servers[next.server].name)"]
        )
        attempt(next, on: eventLoop)
    }

    private func complete(_ result: Result<CallbackResponse, any Error>) {
        state.withLock { state -> OriginCall.Completion? in
            state.call = nil
            return state.completion.take()
        }?(result)
    }

    /// Ends the attempt under way, and makes no other.
    func cancel() {
        let call = state.withLock { state in
            state.isCancelled = true
            return state.call
        }
        call?.cancel()
    }
}

extension Result<CallbackResponse, any Error> {
    /// A failure that names the origin as well. That of the last server alone would name a mirror,
    /// of which the reader may never have heard.
    fileprivate func naming(_ site: OriginSite, tried: Int) -> Self {
        guard tried > 1, case .failure(var error as TransportError) = self else { return self }
        error.message =
            "None of the \(tried) servers that were tried for '\(site.name)' had a usable response. The last one: \(error.message)"
        return .failure(error)
    }

    /// The response as the origin would have sent it.
    fileprivate func translated(by fields: MirrorFields?) -> Self {
        guard let fields, case .success(.response(var response)) = self else { return self }
        fields.translate(&response.head.headerFields)
        return .success(.response(response))
    }
}
