import GatewayRouting
import HTTPCache
import HTTPTypes
import HoldfastConfiguration
import NIOCore
import NIOPosix
import Synchronization

/// A request by the gateway itself to one server of an origin, to check whether it works.
///
/// Clients and rules have no influence on it: it contains none of their fields, bypasses the cache,
/// and does not count in request metrics.
struct OriginQuestion: Sendable, Hashable {
    var method: HTTPRequest.Method
    var path: String
    /// The maximum time for the response's head, including connecting.
    var timeout: Duration
    /// The statuses of a healthy server; `nil` for all except 502, 503 and 504.
    var expected: ClosedRange<Int>?

    func isGood(_ status: Int) -> Bool {
        expected?.contains(status) ?? !Failover.isFault(.response(status: status))
    }

    /// Why the server is not healthy; `nil` if it is.
    func cause(of result: Result<CallbackResponse, any Error>, _ server: String) -> FailureCause? {
        switch result {
        case .success(.response(let response)):
            let status = response.head.status.code
            return isGood(status) ? nil : FailureCause(status: status, of: server)
        case .failure(let error as TransportError): return FailureCause(error)
        case .success, .failure: return FailureCause(reason: "other", message: "'\(server)' failed. See its log.")
        }
    }

    /// The target of the request, as evidence.
    var asked: AskedTarget { AskedTarget(target: path.hashValue, request: path.hashValue) }
}

extension OriginSite {
    /// The health check; `nil` if the configuration has none.
    var healthQuestion: OriginQuestion? {
        plan.settings.health.map {
            OriginQuestion(method: .get, path: $0.path, timeout: $0.timeout, expected: $0.expected)
        }
    }

    /// Returns one of the requests that together show whether a server is at fault for failures, or
    /// is back. These are the health check twice, or two requests that any server can answer, if
    /// only with 404. There are two, because one of them may be for the failing target.
    fileprivate func question(_ attempt: Int) -> OriginQuestion {
        healthQuestion
            ?? OriginQuestion(method: .head, path: attempt == 0 ? "/" : "/robots.txt", timeout: Self.patience)
    }

    /// The time for a response's head if no health check is configured: 10 s
    private static let patience = Duration.seconds(10)
}

extension OriginTransport {
    /// Sends one or two requests to a server, to find out whether it is at fault or is back.
    /// Returns immediately.
    func probe(_ site: OriginSite, _ number: Int, attempt: Int = 0) {
        let question = site.question(attempt)
        let slot = probes.begin()
        guard let slot else { return }
        let eventLoop = MultiThreadedEventLoopGroup.currentEventLoop ?? group.next()
        let call = ask(question, site, number, on: eventLoop) { cause in
            guard self.probes.end(slot) else { return }
            if site.noteProbe(of: number, question.asked, cause, self.logger) {
                self.probe(site, number, attempt: attempt + 1)
            }
        }
        if let call { probes.put(call, slot) }
    }

    /// Sends a question on a new connection. An idle connection would not show whether a new
    /// connection can be opened.
    ///
    /// - Parameter completion: called once, on the event loop, with the cause of a failure; not
    ///   called if the result is `nil`.
    /// - Returns: `nil` if the question cannot be sent.
    func ask(
        _ question: OriginQuestion,
        _ site: OriginSite,
        _ number: Int,
        on eventLoop: any EventLoop,
        _ completion: @escaping @Sendable (_ cause: FailureCause?) -> Void
    ) -> OriginCall? {
        let server = site.servers[number]
        var request = TransportRequest(
            head: HTTPRequest(
                method: question.method,
                scheme: server.endpoint.isSecure ? "https" : "http",
                authority: site.authority,
                path: question.path,
                headerFields: [.userAgent: "holdfast", .accept: "*/*"]
            )
        )
        request.headTimeout = question.timeout
        guard let message = try? OriginRequest.make(request, to: server.endpoint, server, isCheck: true) else {
            return nil
        }
        let call = OriginCall(self, message, onInterim: nil)
        eventLoop.execute {
            call.begin(on: eventLoop, nil) { result in
                completion(question.cause(of: result, server.name))
            }
        }
        return call
    }
}

/// The probes in progress, so that a transport that shuts down can end them.
final class OriginProbes: Sendable {
    private struct State {
        var isClosed = false
        var next = 0
        /// `nil` until the call is known.
        var calls: [Int: OriginCall?] = [:]
    }

    private let state = Mutex(State())

    /// Reserves a slot for a probe.
    ///
    /// - Returns: the slot; `nil` if no more probes may start.
    func begin() -> Int? {
        state.withLock { state in
            guard !state.isClosed else { return nil }
            state.next += 1
            state.calls[state.next] = .some(nil)
            return state.next
        }
    }

    func put(_ call: OriginCall, _ slot: Int) {
        let isLate = state.withLock { state in
            guard state.calls[slot] != nil else { return state.isClosed }
            state.calls[slot] = call
            return false
        }
        if isLate { call.cancel() }
    }

    /// Ends a probe.
    ///
    /// - Returns: whether its result counts.
    func end(_ slot: Int) -> Bool {
        state.withLock { state in
            state.calls[slot] = nil
            return !state.isClosed
        }
    }

    /// Ends all probes, and starts no more.
    func close() {
        let calls = state.withLock { state in
            defer { state.calls = [:] }
            state.isClosed = true
            return state.calls.values.compactMap { $0 }
        }
        for call in calls { call.cancel() }
    }
}

extension TransportRequest {
    /// The identity of the request, as evidence. It leaves out fields that differ in each request.
    var asked: AskedTarget {
        var hasher = Hasher()
        hasher.combine(head.authority)
        hasher.combine(head.path)
        let target = hasher.finalize()
        hasher = Hasher()
        hasher.combine(target)
        hasher.combine(head.method)
        for field in head.headerFields where !Self.isOfOneRequest(field.name.canonicalName) { hasher.combine(field) }
        return AskedTarget(target: target, request: hasher.finalize())
    }

    private static func isOfOneRequest(_ name: String) -> Bool {
        switch name {
        case "traceparent", "tracestate", "x-request-id": true
        default: false
        }
    }
}
