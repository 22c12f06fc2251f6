import HTTPCacheSemantics
import HTTPTypes
import Synchronization

/// One fetch, shared by every caller that asks for the same key while it is under way.
///
/// It belongs to no caller: a caller that gives up leaves, and only when the last one has left, and
/// nothing is being stored, does the fetch end. A response that may not be shared goes to the
/// caller whose request brought it, and to nobody else; the others are released at once and ask on
/// their own.
final class Fill: Sendable {
    /// What a caller gets.
    enum Answer: Sendable {
        /// The response, to be read from ``SharedBody`` while it arrives, and why it is not being
        /// stored, where it is not.
        case shared(StoredResponseHead, HTTPResponse, SharedBodyReader, notStored: StorageRefusal?)
        /// The response, for the caller whose request brought it.
        case exclusive(TransportResponse, responseTime: Timestamp, notStored: StorageRefusal?)
        /// The response is not for this caller; this is the status it had.
        case released(HTTPResponse.Status)
        /// The origin answered 304; this is the stored response now.
        case validated(StoredResponse)
        /// The origin's answer looks wrong beside this stored response.
        case refused(StoredResponse)
    }

    /// What the fetch came to.
    enum Publication: Sendable {
        /// - Parameter notStored: why the body has no writer, where it has none.
        case shared(StoredResponseHead, HTTPResponse, SharedBody, notStored: StorageRefusal? = nil)
        case unshared(TransportResponse, responseTime: Timestamp, notStored: StorageRefusal? = nil)
        /// An unshared response whose caller has it, or has gone.
        case taken(HTTPResponse.Status)
        case validated(StoredResponse, isForAll: Bool)
        case refused(StoredResponse)
        case failed(any Error)
    }

    fileprivate struct Waiter {
        var id: Int
        var isLeader: Bool
        var continuation: CheckedContinuation<Answer, any Error>
    }

    fileprivate struct State {
        var publication: Publication?
        /// In the order in which they came. Nearly always it is one.
        var waiting: [Waiter] = []
        var nextWaiter = 0
        /// Callers between ``Fill/join()`` and the end of ``Fill/answer(isLeader:)``.
        var memberCount = 0
        var isCancelled = false
        /// The caller whose request is under way has its answer, or has gone.
        var hasLeaderLeft = false
        /// Goes on although nobody waits.
        var isBackground = false
        /// Reads nothing, and keeps a body from being given up while members are on the way to it.
        var door: SharedBodyReader?
        var work: Work?
        /// Those that came so far, for who shares the final one.
        var interims: [HTTPResponse] = []
        /// What its callers want looked at before it takes the place of something stored.
        var checks: [ContentCheck] = []
        /// The checks are being run, so that a further one comes too late.
        var isExamined = false
    }

    /// What carries the fetch.
    fileprivate enum Work: Sendable {
        case task(Task<Void, Never>)
        case call(any TransportCall)

        func cancel() {
            switch self {
            case .task(let task): task.cancel()
            case .call(let call): call.cancel()
            }
        }
    }

    /// ``ResponseStore/invalidationSequence`` before the request was sent.
    let fence: InvalidationSequence
    /// Its place in the order in which fills began.
    let number: UInt64
    /// The rules under which it was begun; `nil` without any.
    let rules: ObjectIdentifier?
    private let state = Mutex(State())

    /// - Parameters:
    ///   - check: that of the request that is sent.
    ///   - isBackground: nobody waits for it from the beginning, and it goes on all the same.
    init(
        fence: InvalidationSequence,
        number: UInt64 = 0,
        rules: ObjectIdentifier? = nil,
        check: ContentCheck? = nil,
        isBackground: Bool = false
    ) {
        self.fence = fence
        self.rules = rules
        self.number = number
        state.withLock { state in
            if let check { state.checks = [check] }
            state.isBackground = isBackground
            // Nobody leads it.
            state.hasLeaderLeft = isBackground
        }
    }

    /// From now on it goes on when the last caller leaves: somebody was answered otherwise, and
    /// wants it in the store.
    func keepGoing() {
        state.withLock { $0.isBackground = true }
    }

    /// Whether it goes on although nobody waits.
    var isBackground: Bool { state.withLock { $0.isBackground } }

    /// Runs the fetch in a task of its own, which no caller's cancellation reaches.
    ///
    /// - Parameter executor: where it runs; see ``CacheRequest/executor``.
    func start(on executor: (any TaskExecutor)? = nil, _ fetch: @escaping @Sendable (Fill) async -> Void) {
        let task = Task(executorPreference: executor) { await fetch(self) }
        let isCancelled = state.withLock { state in
            state.work = .task(task)
            return state.isCancelled
        }
        if isCancelled { task.cancel() }
    }

    /// Has a call carry the fetch until a task takes over, if none has already.
    func isCarried(by call: any TransportCall) {
        let isCancelled = state.withLock { state in
            if state.work == nil, state.publication == nil { state.work = .call(call) }
            return state.isCancelled
        }
        if isCancelled { call.cancel() }
    }

    /// Ends the fetch; nobody joins it any more.
    func cancel() {
        state.withLock { state in
            state.isCancelled = true
            return state.work
        }?.cancel()
    }

    /// Whether it was given up: what it fails with then is nobody's.
    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// A place in the group; call ``answer(isLeader:)`` once for it.
    ///
    /// - Parameters:
    ///   - check: this caller's, which what is stored has to pass as well.
    ///   - mayReuse: whether a response that was there before this caller came may answer it all
    ///     the same; what is still awaited may. RFC 9111 §4
    /// - Returns: `false` where the fetch has been given up, the body's beginning is gone, the
    ///   response may not be reused, or the check comes too late: ask anew.
    func join(check: ContentCheck? = nil, _ mayReuse: (StoredResponseHead) -> Bool = { _ in true }) -> Bool {
        state.withLock { state in
            if state.isCancelled { return false }
            let isCovered = check?.isCovered(by: state.checks) ?? true
            if !isCovered, state.isExamined { return false }
            if case .shared(let head, _, _, _)? = state.publication, !mayReuse(head) { return false }
            if case .shared(_, _, let body, _)? = state.publication, state.door == nil {
                guard let door = body.makeReader() else { return false }
                state.door = door
            }
            if let check, !isCovered { state.checks.append(check) }
            state.memberCount += 1
            return true
        }
    }

    /// Whether one of its callers wants something looked at.
    var hasChecks: Bool { state.withLock { !$0.checks.isEmpty } }

    /// What its callers want looked at. From now on nobody joins it whose own check is not among
    /// them.
    func takeChecks() -> [ContentCheck] {
        state.withLock { state in
            state.isExamined = true
            return state.checks
        }
    }

    /// Callers who are between joining and their answer.
    var memberCount: Int { state.withLock { $0.memberCount } }

    /// Waits for the head.
    ///
    /// - Parameter isLeader: the request that is under way is this caller's own.
    func answer(isLeader: Bool) async throws -> Answer {
        let id = state.withLock { state in
            defer { state.nextWaiter += 1 }
            return state.nextWaiter
        }
        defer { leave(isLeader: isLeader) }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let ready: Result<Answer, any Error>? = state.withLock { state in
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if state.publication != nil { return state.answer(isLeader: isLeader) }
                    state.waiting.append(Waiter(id: id, isLeader: isLeader, continuation: continuation))
                    return nil
                }
                if let ready { continuation.resume(with: ready) }
            }
        } onCancel: {
            state.withLock { $0.takeWaiter(id) }?.continuation.resume(throwing: CancellationError())
        }
    }

    /// Publishes that its leader has what came, and nobody else may have it.
    ///
    /// - Returns: whether the leader is still there; it is no member any more.
    func release(_ status: HTTPResponse.Status) -> Bool {
        let (waiting, hasLeader) = state.withLock { state in
            state.publication = .taken(status)
            // The call is over, and holds what leads back here.
            state.work = nil
            let hasLeader = !state.hasLeaderLeft
            if hasLeader { state.memberCount -= 1 }
            state.hasLeaderLeft = true
            defer { state.waiting = [] }
            return (state.waiting, hasLeader)
        }
        for waiter in waiting { waiter.continuation.resume(returning: .released(status)) }
        return hasLeader
    }

    /// What is sent for a request. Interim responses go to the caller whose request it is, for as
    /// long as that waits, and are kept for those who share the final one: see ``interims``.
    func sending(_ request: TransportRequest, for presented: CacheRequest) -> TransportRequest {
        var request = request
        let inform = presented.onInformational
        // Strong: what sends the request holds the fill anyway, and a weak reference makes each
        // count of it slow.
        request.onInformational = { interim in
            if self.keep(interim) { inform?(interim) }
        }
        return request
    }

    /// Interim responses that are kept for others; the transport bounds what comes at all.
    private static let interimLimit = 16

    /// - Returns: whether the caller whose request it is waits for its head.
    private func keep(_ interim: HTTPResponse) -> Bool {
        state.withLock { state in
            if state.interims.count < Self.interimLimit { state.interims.append(interim) }
            return !state.hasLeaderLeft
        }
    }

    /// The interim responses that came before the final one, for a caller who shares that. RFC 9110
    /// §15.2
    ///
    /// Not before it is known that the final one is shared: until then they may be meant for one
    /// client alone. A cookie is never for others.
    var interims: [HTTPResponse] {
        state.withLock { $0.interims }.map { interim in
            var interim = interim
            interim.headerFields[.setCookie] = nil
            return interim
        }
    }

    /// A member goes, with its answer or without.
    func leave(isLeader: Bool) {
        // What is let go of here ends other things, and must not do so under the lock.
        let (work, _, _) = state.withLock { state -> (Work?, SharedBodyReader?, Publication?) in
            state.memberCount -= 1
            if isLeader { state.hasLeaderLeft = true }
            var dropped: Publication?
            if isLeader, case .unshared(let response, _, _)? = state.publication {
                dropped = state.publication
                state.publication = .taken(response.head.status)
            }
            guard state.memberCount == 0 else { return (nil, nil, dropped) }
            guard state.publication != nil || state.isBackground else {
                state.isCancelled = true
                return (state.work, nil, dropped)
            }
            return (nil, state.door.take(), dropped)
        }
        work?.cancel()
    }

    /// Hands the head to everyone who waits, in the order in which they came.
    func publish(_ publication: Publication) {
        let (answers, _) = state.withLock { state in
            state.publication = publication
            // Nobody would take it.
            if state.hasLeaderLeft, case .unshared(let response, _, _) = publication {
                state.publication = .taken(response.head.status)
            }
            if case .shared(_, _, let body, _) = publication, state.memberCount > 0 { state.door = body.makeReader() }
            let waiting = state.waiting
            state.waiting = []
            let answers = waiting.map { ($0.continuation, state.answer(isLeader: $0.isLeader)) }
            return (answers, publication)
        }
        for (waiter, answer) in answers { waiter.resume(with: answer) }
    }
}

extension Fill.State {
    fileprivate mutating func takeWaiter(_ id: Int) -> Fill.Waiter? {
        waiting.firstIndex { $0.id == id }.map { waiting.remove(at: $0) }
    }

    fileprivate mutating func answer(isLeader: Bool) -> Result<Fill.Answer, any Error> {
        switch publication {
        case .shared(let head, let response, let body, let notStored):
            // A caller that comes when the body's beginning is gone asks on its own. The one whose
            // request it was has its answer in what came, also when that broke off before it woke
            // up.
            guard let reader = body.makeReader(evenIfBroken: isLeader) else {
                return .success(.released(response.status))
            }
            // Without a reason it had a writer, and that failed.
            let refusal = body.isStoring ? nil : notStored ?? .store
            return .success(.shared(head, response, reader, notStored: refusal))
        case .unshared(let response, let responseTime, let notStored):
            guard isLeader else { return .success(.released(response.head.status)) }
            publication = .taken(response.head.status)
            return .success(.exclusive(response, responseTime: responseTime, notStored: notStored))
        case .taken(let status): return .success(.released(status))
        case .validated(let stored, let isForAll):
            return .success(isForAll || isLeader ? .validated(stored) : .released(.notModified))
        case .refused(let stored): return .success(.refused(stored))
        case .failed(let error): return .failure(error)
        case nil: return .failure(CancellationError())
        }
    }
}
