import HTTPCacheSemantics
import HTTPTypes
import Synchronization

/// One fetch, shared by every caller that requests the same key while it is in progress.
///
/// The fetch belongs to no caller. A caller that gives up leaves. The fetch ends early when the
/// last caller has left, in these cases: the head has not arrived and the fetch is not in the
/// background, the body is not being stored, or the body exceeds its ``UnreadLimit``. A response
/// that may not be shared goes only to the caller whose request was sent. The other callers are
/// released immediately and send their own requests.
final class InFlightFetch: Sendable {
    /// The result of the fetch for one caller.
    enum Delivery: Sendable {
        /// The response, to be read from ``InFlightBody`` while it arrives, and the reason if it is
        /// not being stored.
        case shared(StoredResponseHead, HTTPResponse, InFlightBodyReader, notStored: StorageRefusal?)
        /// The response, for the caller whose request was sent.
        case exclusive(TransportResponse, responseTime: Timestamp, notStored: StorageRefusal?)
        /// The response is not for this caller. It had this status.
        case released(HTTPResponse.Status)
        /// The origin responded with 304. The value is the stored response after the update.
        case validated(StoredResponse)
        /// The origin's response looks wrong compared with this stored response.
        case refused(StoredResponse)
    }

    /// The result of the fetch.
    enum Publication: Sendable {
        /// - Parameter notStored: the reason that the body has no writer; `nil` if it has one.
        case shared(StoredResponseHead, HTTPResponse, InFlightBody, notStored: StorageRefusal? = nil)
        case unshared(TransportResponse, responseTime: Timestamp, notStored: StorageRefusal? = nil)
        /// An unshared response whose caller has received it, or has disconnected.
        case taken(HTTPResponse.Status)
        case validated(StoredResponse, isForAll: Bool)
        case refused(StoredResponse)
        case failed(any Error)
    }

    fileprivate struct Waiter {
        var id: Int
        var isLeader: Bool
        var continuation: CheckedContinuation<Delivery, any Error>
    }

    fileprivate struct State {
        var publication: Publication?
        /// The waiting callers, in order of arrival. There is nearly always exactly one.
        var waiting: [Waiter] = []
        var nextWaiter = 0
        /// The number of callers between ``InFlightFetch/join()`` and the end of
        /// ``InFlightFetch/waitForHead(isLeader:)``.
        var memberCount = 0
        var isCancelled = false
        /// Whether the caller whose request was sent has its response, or has disconnected.
        var hasLeaderLeft = false
        /// Whether the fetch continues without a waiting caller.
        var isBackground = false
        /// A reader that never reads. It keeps a body alive while members are about to read it.
        var heldReader: InFlightBodyReader?
        var work: Work?
        /// The interim responses so far, for callers that share the final response.
        var interims: [HTTPResponse] = []
        /// The callers' checks, which a response must pass before it replaces a stored response.
        var checks: [ContentCheck] = []
        /// Whether the checks have started, so that it is too late for another check.
        var isExamined = false
    }

    /// The task or the call that performs the fetch.
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
    let fencingNumber: InvalidationSequence
    /// The fetch's position in the order in which in-flight fetches began.
    let number: UInt64
    /// The rules under which the fetch began; `nil` without rules.
    let rules: ObjectIdentifier?
    /// The credentials that a caller must have to join; `nil` if the key is enough.
    let credentials: StoreKey.Partition?
    private let mayBeJoined: Bool
    private let state: Mutex<State>

    /// - Parameters:
    ///   - check: the check of the request that is sent.
    ///   - isBackground: whether the fetch has no waiting caller from the start, and continues
    ///     anyway.
    ///   - mayBeJoined: whether the response may serve other callers.
    init(
        fencingNumber: InvalidationSequence,
        number: UInt64 = 0,
        rules: ObjectIdentifier? = nil,
        credentials: StoreKey.Partition? = nil,
        check: ContentCheck? = nil,
        isBackground: Bool = false,
        mayBeJoined: Bool = true
    ) {
        self.fencingNumber = fencingNumber
        self.mayBeJoined = mayBeJoined
        self.rules = rules
        self.credentials = credentials
        self.number = number
        // No caller leads a background fetch.
        state = Mutex(
            State(hasLeaderLeft: isBackground, isBackground: isBackground, checks: check.map { [$0] } ?? [])
        )
    }

    /// Makes the fetch continue even after the last caller leaves. Used if the caller was served
    /// another response and wants this response to be stored.
    func keepGoing() {
        state.withLock { $0.isBackground = true }
    }

    /// Whether the fetch continues without a waiting caller.
    var isBackground: Bool { state.withLock { $0.isBackground } }

    /// Runs the fetch in its own task, which no caller's cancellation reaches.
    ///
    /// - Parameter executor: where the fetch runs; see ``ExecutionContext``.
    func start(on executor: (any TaskExecutor)? = nil, _ fetch: @escaping @Sendable (InFlightFetch) async -> Void) {
        let task = Task(executorPreference: executor) { await fetch(self) }
        let isCancelled = state.withLock { state in
            state.work = .task(task)
            return state.isCancelled
        }
        if isCancelled { task.cancel() }
    }

    /// Attaches the fetch to a call that performs it until a task takes over. Does nothing if the
    /// fetch is already being performed, or has a result.
    func attach(to call: any TransportCall) {
        let isCancelled = state.withLock { state in
            if state.work == nil, state.publication == nil { state.work = .call(call) }
            return state.isCancelled
        }
        if isCancelled { call.cancel() }
    }

    /// Ends the fetch. No caller can join it anymore.
    func cancel() {
        state.withLock { state in
            state.isCancelled = true
            return state.work
        }?.cancel()
    }

    /// Whether the fetch was canceled, so that its error belongs to no caller.
    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// Adds a caller. Call ``waitForHead(isLeader:)`` once for each added caller.
    ///
    /// - Parameters:
    ///   - check: the caller's check, which a response must also pass before it is stored.
    ///   - mayReuse: returns whether a response that was received before this caller joined may
    ///     serve it. A response that has not arrived yet always may. RFC 9111 §4
    /// - Returns: `false` if the response cannot serve other callers, the fetch was canceled, the
    ///   body's beginning is gone, the response may not be reused, or it is too late for the check.
    ///   In that case, send a new request.
    func join(check: ContentCheck? = nil, _ mayReuse: (StoredResponseHead) -> Bool = { _ in true }) -> Bool {
        state.withLock { state in
            if state.isCancelled || !mayBeJoined { return false }
            let isCovered = check?.isCovered(by: state.checks) ?? true
            if !isCovered, state.isExamined { return false }
            if case .shared(let head, _, _, _)? = state.publication, !mayReuse(head) { return false }
            if case .shared(_, _, let body, _)? = state.publication, state.heldReader == nil {
                guard let reader = body.makeReader() else { return false }
                state.heldReader = reader
            }
            if let check, !isCovered { state.checks.append(check) }
            state.memberCount += 1
            return true
        }
    }

    /// Whether the body has ended, so that the fetch will not store anything anymore. The fetch
    /// itself ends soon after its readers see the end.
    var hasEndedBody: Bool {
        state.withLock { state in
            guard case .shared(_, _, let body, _)? = state.publication else { return false }
            return body.hasEnded
        }
    }

    /// Whether one of the fetch's callers has a check.
    var hasChecks: Bool { state.withLock { !$0.checks.isEmpty } }

    /// Returns the callers' checks. From now on, a caller can join only if its own check is covered
    /// by them.
    func takeChecks() -> [ContentCheck] {
        state.withLock { state in
            state.isExamined = true
            return state.checks
        }
    }

    /// The number of callers that joined and do not have their result yet.
    var memberCount: Int { state.withLock { $0.memberCount } }

    /// Waits for the response's head.
    ///
    /// - Parameter isLeader: whether the request that was sent is this caller's own.
    func waitForHead(isLeader: Bool) async throws -> Delivery {
        let id = state.withLock { state in
            defer { state.nextWaiter += 1 }
            return state.nextWaiter
        }
        defer { leave(isLeader: isLeader) }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let ready: Result<Delivery, any Error>? = state.withLock { state in
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if state.publication != nil { return state.delivery(isLeader: isLeader) }
                    state.waiting.append(Waiter(id: id, isLeader: isLeader, continuation: continuation))
                    return nil
                }
                if let ready { continuation.resume(with: ready) }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                state.waiting.firstIndex { $0.id == id }.map { state.waiting.remove(at: $0) }
            }
            waiter?.continuation.resume(throwing: CancellationError())
        }
    }

    /// Publishes that only the leader gets the response, and releases the other callers.
    ///
    /// - Returns: whether the leader had not left yet. It is no longer a member after this.
    func release(_ status: HTTPResponse.Status) -> Bool {
        let (waiting, hasLeader) = state.withLock { state in
            state.publication = .taken(status)
            // The call has ended. Release it, because it refers back to this object.
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

    /// Returns the request to send. Interim responses go to the caller whose request is sent, while
    /// that caller waits. They are also kept for callers that share the final response: see
    /// ``interims``.
    func sending(_ request: TransportRequest, for presented: CacheRequest) -> TransportRequest {
        var request = request
        let inform = presented.onInformational
        // Use a strong reference: the request's sender retains the in-flight fetch anyway, and a
        // weak reference slows down all reference counting.
        request.onInformational = { interim in
            if self.keep(interim) { inform?(interim) }
        }
        return request
    }

    /// The maximum number of interim responses to keep for other callers. The transport limits the
    /// number that may arrive.
    private static let interimLimit = 16

    /// - Returns: whether the caller whose request was sent has not left yet.
    private func keep(_ interim: HTTPResponse) -> Bool {
        state.withLock { state in
            if state.interims.count < Self.interimLimit { state.interims.append(interim) }
            return !state.hasLeaderLeft
        }
    }

    /// The interim responses before the final response, for a caller that shares the final
    /// response. RFC 9110 §15.2
    ///
    /// They are forwarded only once it is known that the final response is shared. Until then, they
    /// may be meant for one client only. Cookies are never forwarded to other clients.
    var interims: [HTTPResponse] {
        state.withLock { $0.interims }.map { interim in
            var interim = interim
            interim.headerFields[.setCookie] = nil
            return interim
        }
    }

    /// Removes a caller, whether or not it got its result.
    func leave(isLeader: Bool) {
        // Release these values outside the lock, because their release may end other operations.
        let (work, _, _) = state.withLock { state -> (Work?, InFlightBodyReader?, Publication?) in
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
            return (nil, state.heldReader.take(), dropped)
        }
        work?.cancel()
    }

    /// Delivers the head to all waiting callers, in order of arrival.
    func publish(_ publication: Publication) {
        let (deliveries, _) = state.withLock { state in
            state.publication = publication
            // The caller whose request was sent has left, so no caller can receive the response.
            if state.hasLeaderLeft, case .unshared(let response, _, _) = publication {
                state.publication = .taken(response.head.status)
            }
            if case .shared(_, _, let body, _) = publication, state.memberCount > 0 {
                state.heldReader = body.makeReader()
            }
            let waiting = state.waiting
            state.waiting = []
            let deliveries = waiting.map { ($0.continuation, state.delivery(isLeader: $0.isLeader)) }
            return (deliveries, publication)
        }
        for (waiter, delivery) in deliveries { waiter.resume(with: delivery) }
    }
}

extension InFlightFetch.State {
    fileprivate mutating func delivery(isLeader: Bool) -> Result<InFlightFetch.Delivery, any Error> {
        switch publication {
        case .shared(let head, let response, let body, let notStored):
            // A caller that joins after the body's beginning is gone sends its own request. The
            // leader is served the received bytes, even if the body was cut short before the leader
            // woke up.
            guard let reader = body.makeReader(evenIfBroken: isLeader) else {
                return .success(.released(response.status))
            }
            // If there is no reason, there was a writer, but it failed.
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
