public import HTTPCache
import HTTPCacheSemantics
public import HTTPTypes
import NIOCore
import Synchronization

/// A transport that answers as it was told, and loudly fails on a request it was told nothing
/// about.
///
/// ```swift
/// let transport = ScriptedTransport()
/// transport.script("https://a.example/feed", .ok("[]", fields: [.cacheControl: "max-age=60"]), .failure(.connect))
/// ```
///
/// Answers are scripted for a target URI, and where it matters for a method of it. Those that are
/// given one by one come in their order, once each; after them what was given to be repeated: one
/// reply, a cycle of them, or whatever a closure makes of the request.
public final class ScriptedTransport: Transport {
    /// What answers from the last single reply on.
    enum Habit: Sendable {
        case cycle([Reply], next: Int)
        case closure(@Sendable (ReceivedRequest) async throws -> Reply)
    }

    /// What requests are told apart by. Without a method, all of them that have no script of their
    /// own.
    struct Subject: Hashable {
        var method: HTTPRequest.Method?
        var target: String
    }

    private struct Script {
        var replies: [Reply] = []
        var habit: Habit?

        /// What is next; `nil` where nothing is.
        mutating func next() -> Answer? {
            if !replies.isEmpty { return .reply(replies.removeFirst()) }
            switch habit {
            case nil: return nil
            case .closure(let answer): return .closure(answer)
            case .cycle(let replies, let next):
                habit = .cycle(replies, next: (next + 1) % replies.count)
                return .reply(replies[next])
            }
        }
    }

    private enum Answer {
        case reply(Reply)
        case closure(@Sendable (ReceivedRequest) async throws -> Reply)
        case away
    }

    private struct State {
        var scripts: [Subject: Script] = [:]
        var requests: [ReceivedRequest] = []
        var unscripted: [String] = []
        var isReachable = true
        var waiting: [(count: Int, CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())
    private let sleeper: any Clock<Duration>

    /// A transport that was told nothing yet.
    ///
    /// - Parameter sleeper: what ``Reply/delay`` is timed by; a clock that stands still, which
    ///   nobody can move, unless told otherwise.
    public init(sleeper: any Clock<Duration> = ManualDurationClock()) {
        self.sleeper = sleeper
    }

    /// Whether there is a network. While there is none, every request fails as one without a route
    /// does (`connect`), scripts wait, and answers that are under way break off.
    public var isReachable: Bool {
        get { state.withLock { $0.isReachable } }
        set { state.withLock { $0.isReachable = newValue } }
    }

    /// Tells it how to answer the next requests for a target URI, in this order. The last answer is
    /// not repeated.
    ///
    /// - Parameter method: only for requests by this method; for all unless told otherwise.
    public func script(_ target: String, method: HTTPRequest.Method? = nil, _ replies: Reply...) {
        change(target, method) { $0.replies += replies }
    }

    /// Tells it how to answer all requests for a target URI from then on: by these replies in their
    /// order, over and over. One of them is a reply that repeats, a good one and a failure a
    /// network that flaps.
    public func script(_ target: String, method: HTTPRequest.Method? = nil, repeating first: Reply, _ others: Reply...)
    {
        change(target, method) { $0.habit = .cycle([first] + others, next: 0) }
    }

    /// Tells it to have all requests for a target URI from then on answered by a closure.
    ///
    /// - Parameter answer: called for each of them, with its content. What it throws is thrown in
    ///   the place of an answer: a transport throws `TransportError`.
    public func script(
        _ target: String,
        method: HTTPRequest.Method? = nil,
        answer: @escaping @Sendable (ReceivedRequest) async throws -> Reply
    ) {
        change(target, method) { $0.habit = .closure(answer) }
    }

    private func change(_ target: String, _ method: HTTPRequest.Method?, _ change: (inout Script) -> Void) {
        state.withLock { change(&$0.scripts[Subject(method: method, target: target), default: Script()]) }
    }

    /// The heads of the requests that came, in order; also of those that found no network.
    public var requests: [HTTPRequest] { state.withLock { $0.requests.map(\.head) } }

    /// The requests that came, in order, with their content where it was sent.
    public var received: [ReceivedRequest] { state.withLock { $0.requests } }

    /// The targets that were asked for without a script: a test checks that there are none.
    public var unscripted: [String] { state.withLock { $0.unscripted } }

    /// Waits until so many requests have come.
    public func waitForRequests(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.requests.count >= count { return true }
                state.waiting.append((count, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    /// See `Transport`.
    public func send(_ request: TransportRequest) async throws -> TransportResponse {
        let target = TargetURI(request: request.head)
        let (number, answer) = arrive(request.head, target?.uri ?? "?")
        let reply: Reply
        switch answer {
        case nil: throw TransportError(code: .other, message: message(request.head, target))
        case .away?: throw Self.away
        case .reply(let scripted)?:
            // A failure is one before anything was sent: a connection that did not come about.
            if case .failure = scripted.ending {} else { _ = try await read(request, number) }
            reply = scripted
        case .closure(let closure)?: reply = try await closure(try await read(request, number))
        }
        if let delay = reply.delay { try await sleeper.sleep(for: delay) }
        if let gate = reply.beforeHead { try await gate.wait() }
        if case .failure(let error) = reply.ending { throw error }
        guard isReachable else { throw Self.away }
        return TransportResponse(head: reply.head, body: reply.body { self.isReachable ? nil : Self.brokenOff })
    }

    private func arrive(_ head: HTTPRequest, _ target: String) -> (number: Int, Answer?) {
        let (number, answer, arrived) = state.withLock { state in
            state.requests.append(ReceivedRequest(head: head))
            let count = state.requests.count
            let arrived = state.waiting.filter { $0.count <= count }.map(\.1)
            state.waiting.removeAll { $0.count <= count }
            var answer: Answer? = state.isReachable ? nil : .away
            for subject in [Subject(method: head.method, target: target), Subject(target: target)] where answer == nil {
                answer = state.scripts[subject]?.next()
            }
            if answer == nil { state.unscripted.append(target) }
            return (count - 1, answer, arrived)
        }
        for waiter in arrived { waiter.resume() }
        return (number, answer)
    }

    /// The request with its content, which is read as a transport reads it that sends it.
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
        return "No answer is scripted for '\(head.method) \(target?.redacted ?? "?")'. \(known)"
    }

    private static let away = TransportError(code: .connect, message: "The scripted network is away.")
    private static let brokenOff = TransportError(code: .connectionClosed, message: "The scripted network went away.")
}
