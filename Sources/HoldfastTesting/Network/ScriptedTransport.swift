public import HTTPCache
import HTTPCacheSemantics
public import HTTPTypes
import NIOCore
import Synchronization

/// A transport that follows a script, and fails clearly on a request without a script.
///
/// ```swift
/// let transport = ScriptedTransport()
/// let feed = ScriptedTransport.Reply.ok("[]", fields: [.cacheControl: "max-age=60"])
/// transport.script("https://a.example/feed", feed, .failure(.connect))
/// ```
///
/// Responses are scripted for a target URI, and optionally for one method. One-time replies come
/// first, in order. After that come repeating replies: a single reply, a cycle of replies, or the
/// result of a closure.
public final class ScriptedTransport: Transport {
    /// The source of responses after the last one-time reply.
    enum Habit: Sendable {
        case cycle([Reply], next: Int)
        case closure(@Sendable (ReceivedRequest) async throws -> Reply)
    }

    /// The requests that a script applies to. Without a method, the script applies to all methods
    /// that have no script of their own, or whose script is used up.
    struct Subject: Hashable {
        var method: HTTPRequest.Method?
        var target: String
    }

    private struct Script {
        var replies: [Reply] = []
        var habit: Habit?

        /// Removes and returns the next response; `nil` if there is none.
        mutating func next() -> Step? {
            if !replies.isEmpty { return .reply(replies.removeFirst()) }
            switch habit {
            case nil: return nil
            case .closure(let respond): return .closure(respond)
            case .cycle(let replies, let next):
                habit = .cycle(replies, next: (next + 1) % replies.count)
                return .reply(replies[next])
            }
        }
    }

    private enum Step {
        case reply(Reply)
        case closure(@Sendable (ReceivedRequest) async throws -> Reply)
        case unreachable
    }

    private struct State {
        var scripts: [Subject: Script] = [:]
        var requests: [ReceivedRequest] = []
        var unscripted: [String] = []
        var isReachable = true
        var waiting: [Int: (count: Int, continuation: CheckedContinuation<Void, Never>)] = [:]
        var nextWaiter = 0
    }

    private let state = Mutex(State())
    private let sleeper: any Clock<Duration>

    /// Creates a transport without a script.
    ///
    /// - Parameter sleeper: the clock of ``Reply/delay``; by default, a clock that never advances.
    public init(sleeper: any Clock<Duration> = ManualDurationClock()) {
        self.sleeper = sleeper
    }

    /// Whether the network is up. While it is down, every request fails with `connect`, as if there
    /// were no route. Scripts do not advance, and responses in progress break off.
    public var isReachable: Bool {
        get { state.withLock { $0.isReachable } }
        set { state.withLock { $0.isReachable = newValue } }
    }

    /// Adds replies for the next requests to a target URI, in this order. The last reply is not
    /// repeated.
    ///
    /// - Parameter method: the method to match; all methods by default.
    public func script(_ target: String, method: HTTPRequest.Method? = nil, _ replies: Reply...) {
        change(target, method) { $0.replies += replies }
    }

    /// Sets the replies to all later requests for a target URI. The replies repeat in order. A good
    /// reply and a failure together simulate a flapping network.
    public func script(_ target: String, method: HTTPRequest.Method? = nil, repeating first: Reply, _ others: Reply...)
    {
        change(target, method) { $0.habit = .cycle([first] + others, next: 0) }
    }

    /// Makes a closure answer all later requests for a target URI.
    ///
    /// - Parameter respond: called for each request, with its content. If it throws an error, the
    ///   request fails with that error. Real transports throw `TransportError`.
    public func script(
        _ target: String,
        method: HTTPRequest.Method? = nil,
        respond: @escaping @Sendable (ReceivedRequest) async throws -> Reply
    ) {
        change(target, method) { $0.habit = .closure(respond) }
    }

    private func change(_ target: String, _ method: HTTPRequest.Method?, _ change: (inout Script) -> Void) {
        state.withLock { change(&$0.scripts[Subject(method: method, target: target), default: Script()]) }
    }

    /// The heads of the requests, in order, including requests that failed because the network was
    /// down.
    public var requests: [HTTPRequest] { state.withLock { $0.requests.map(\.head) } }

    /// The requests in order, with their content if it was sent.
    public var received: [ReceivedRequest] { state.withLock { $0.requests } }

    /// The targets of requests without a script. A test should check that this list is empty.
    public var unscripted: [String] { state.withLock { $0.unscripted } }

    /// Waits until at least this many requests have arrived.
    ///
    /// Returns immediately if the waiting task is canceled.
    public func waitForRequests(_ count: Int) async {
        let id = state.withLock { state in
            defer { state.nextWaiter += 1 }
            return state.nextWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isDone = state.withLock { state in
                    if Task.isCancelled || state.requests.count >= count { return true }
                    state.waiting[id] = (count, continuation)
                    return false
                }
                if isDone { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiting.removeValue(forKey: id) }?.continuation.resume()
        }
    }

    /// See `Transport`.
    public func send(_ request: TransportRequest) async throws -> TransportResponse {
        let target = TargetURI(request: request.head)
        let (number, step) = arrive(request.head, target?.uri ?? "?")
        let reply: Reply
        switch step {
        case nil: throw TransportError(code: .other, message: message(request.head, target))
        case .unreachable?: throw Self.unreachable
        case .reply(let scripted)?:
            // A failure occurs before anything is sent, because no connection was opened.
            if case .failure = scripted.ending {} else { _ = try await read(request, number) }
            reply = scripted
        case .closure(let closure)?: reply = try await closure(try await read(request, number))
        }
        if let delay = reply.delay { try await sleeper.sleep(for: delay) }
        if let gate = reply.beforeHead { try await gate.wait() }
        if case .failure(let error) = reply.ending { throw error }
        guard isReachable else { throw Self.unreachable }
        return TransportResponse(head: reply.head, body: reply.body { self.isReachable ? nil : Self.brokenOff })
    }

    private func arrive(_ head: HTTPRequest, _ target: String) -> (number: Int, Step?) {
        let (number, step, arrived) = state.withLock { state in
            state.requests.append(ReceivedRequest(head: head))
            let count = state.requests.count
            let arrived = state.waiting.filter { $0.value.count <= count }
            for id in arrived.keys { state.waiting[id] = nil }
            var step: Step? = state.isReachable ? nil : .unreachable
            for subject in [Subject(method: head.method, target: target), Subject(target: target)] where step == nil {
                step = state.scripts[subject]?.next()
            }
            if step == nil { state.unscripted.append(target) }
            return (count - 1, step, arrived)
        }
        for waiter in arrived.values { waiter.continuation.resume() }
        return (number, step)
    }

    /// Reads the request's content as a real transport would, and returns the request with it.
    private func read(_ request: TransportRequest, _ number: Int) async throws -> ReceivedRequest {
        var received = ReceivedRequest(head: request.head)
        received.content = try await request.body?.collect(upTo: ReceivedRequest.contentLimit)
        state.withLock { $0.requests[number] = received }
        return received
    }

    private func message(_ head: HTTPRequest, _ target: TargetURI?) -> String {
        let scripts = state.withLock { state in
            state.scripts.map { subject, script in
                let target = (try? TargetURI(subject.target))?.redacted ?? subject.target
                let isUsedUp = script.replies.isEmpty && script.habit == nil
                return "'\(subject.method.map { "\($0) " } ?? "")\(target)'\(isUsedUp ? " (used up)" : "")"
            }
        }
        let known = scripts.isEmpty ? "Nothing is scripted." : "Scripted: \(scripts.sorted().joined(separator: ", "))."
        return "No response is scripted for '\(head.method) \(target?.redacted ?? "?")'. \(known)"
    }

    private static let unreachable = TransportError(code: .connect, message: "The scripted network is unreachable.")
    private static let brokenOff = TransportError(
        code: .connectionClosed,
        message: "The scripted network became unreachable."
    )
}
