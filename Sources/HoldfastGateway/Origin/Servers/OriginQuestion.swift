import HTTPCache
import HTTPTypes
import HoldfastConfiguration
import NIOCore
import NIOPosix
import Synchronization

/// A request of the gateway's own to one server of an origin, to find out whether it is in order.
///
/// No client and no rule has a part in it: it has none of their fields, goes past the cache, and is
/// no request in the metrics of requests.
struct OriginQuestion: Sendable, Hashable {
    var method: HTTPRequest.Method
    var path: String
    /// For the head of the response, connecting included.
    var timeout: Duration
    /// The statuses of a server in order; `nil`: all but 502, 503 and 504.
    var expected: ClosedRange<Int>?

    func isGood(_ status: Int) -> Bool {
        expected?.contains(status) ?? !Failover.isFault(.response(status: status))
    }

    /// Its target, for evidence.
    var asked: AskedTarget { AskedTarget(target: path.hashValue, request: path.hashValue) }
}

extension OriginSite {
    /// The health check; `nil` if the configuration has none.
    var healthQuestion: OriginQuestion? {
        plan.settings.health.map {
            OriginQuestion(method: .get, path: $0.path, timeout: $0.timeout, expected: $0.expected)
        }
    }

    /// The requests that show together whether a server is to blame for failures, or is back: the
    /// health check twice, or two that any server can answer, if only with 404. One of those may be
    /// the target that fails.
    fileprivate func question(_ attempt: Int) -> OriginQuestion {
        healthQuestion
            ?? OriginQuestion(method: .head, path: attempt == 0 ? "/" : "/robots.txt", timeout: Self.patience)
    }

    /// The time for the head of a response, if the configuration has no health check. 10 s
    private static let patience = Duration.seconds(10)
}

extension OriginTransport {
    /// Asks a server for something of the gateway's own until it is known whether it is to blame,
    /// or is back: once, or twice. It returns at once.
    func probe(_ site: OriginSite, _ number: Int, attempt: Int = 0) {
        let question = site.question(attempt)
        let slot = probes.begin()
        guard let slot else { return }
        let eventLoop = MultiThreadedEventLoopGroup.currentEventLoop ?? group.next()
        let call = ask(question, site, number, on: eventLoop) { isGood in
            guard self.probes.end(slot) else { return }
            if site.noteProbe(of: number, question.asked, isGood: isGood, self.logger) {
                self.probe(site, number, attempt: attempt + 1)
            }
        }
        if let call { probes.put(call, slot) }
    }

    /// Sends a question on a connection of its own. A kept one would not show whether a new one can
    /// be opened.
    ///
    /// - Parameter completion: called once, on the event loop; not if there is no call.
    /// - Returns: `nil` if the question cannot be sent.
    func ask(
        _ question: OriginQuestion,
        _ site: OriginSite,
        _ number: Int,
        on eventLoop: any EventLoop,
        _ completion: @escaping @Sendable (_ isGood: Bool) -> Void
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
                guard case .success(.response(let response)) = result else { return completion(false) }
                completion(question.isGood(response.head.status.code))
            }
        }
        return call
    }
}

/// The probes under way, so that a transport that shuts down ends them.
final class OriginProbes: Sendable {
    private struct State {
        var isClosed = false
        var next = 0
        /// `nil` before the call is known.
        var calls: [Int: OriginCall?] = [:]
    }

    private let state = Mutex(State())

    /// - Returns: a slot; `nil` if no probe begins any more.
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

    /// - Returns: whether the result counts.
    func end(_ slot: Int) -> Bool {
        state.withLock { state in
            state.calls[slot] = nil
            return !state.isClosed
        }
    }

    /// Ends all probes, and begins no more.
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
    /// The identity of the request for evidence. Fields that differ in each request are no part of
    /// it.
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
