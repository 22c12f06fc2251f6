import HTTPCacheSemantics
import HTTPTypes
import Synchronization

/// One fetch, shared by every caller that asks for the same key while it is under way.
///
/// It belongs to no caller: a caller that gives up leaves, and only when the last one has left, and nothing is being stored, does the
/// fetch end. A response that may not be shared goes to one caller; the others are released at once and ask on their own.
final class Fill: Sendable {
    /// What a caller gets.
    enum Answer: Sendable {
        /// The response, to be read from ``SharedBody`` while it arrives.
        case shared(StoredResponseHead, HTTPResponse, SharedBodyReader, isStoring: Bool)
        /// The response, for this caller alone.
        case exclusive(TransportResponse, responseTime: Timestamp)
        /// The response may not be shared; this is the status it had.
        case released(HTTPResponse.Status)
        /// The origin answered 304; this is the stored response now.
        case validated(StoredResponse)
    }

    /// What the fetch came to.
    enum Publication: Sendable {
        case shared(StoredResponseHead, HTTPResponse, SharedBody)
        case unshared(TransportResponse, responseTime: Timestamp)
        case validated(StoredResponse)
        case failed(any Error)
    }

    fileprivate struct State {
        var publication: Publication?
        var waiting: [Int: CheckedContinuation<Answer, any Error>] = [:]
        var nextWaiter = 0
        var waiterCount = 0
        var task: Task<Void, Never>?
        var isExclusiveTaken = false
    }

    /// ``ResponseStore/invalidationSequence`` before the request was sent.
    let fence: InvalidationSequence
    private let state = Mutex(State())

    init(fence: InvalidationSequence) {
        self.fence = fence
    }

    /// Runs the fetch in a task of its own, which no caller's cancellation reaches.
    func start(_ fetch: @escaping @Sendable (Fill) async -> Void) {
        let task = Task { await fetch(self) }
        let isUnwanted = state.withLock { state in
            state.task = task
            return state.waiterCount == 0 && state.publication == nil
        }
        if isUnwanted { task.cancel() }
    }

    func cancel() { state.withLock { $0.task }?.cancel() }

    /// A place in the group. Taken before ``start(_:)``, so that a fill never looks unwanted while its first caller is on the way.
    func join() { state.withLock { $0.waiterCount += 1 } }

    /// Waits for the head. Call it once after each ``join()``.
    func answer() async throws -> Answer {
        let id = state.withLock { state in
            defer { state.nextWaiter += 1 }
            return state.nextWaiter
        }
        defer { leave() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let ready: Result<Answer, any Error>? = state.withLock { state in
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if state.publication != nil { return state.answer() }
                    state.waiting[id] = continuation
                    return nil
                }
                if let ready { continuation.resume(with: ready) }
            }
        } onCancel: {
            state.withLock { $0.waiting.removeValue(forKey: id) }?.resume(throwing: CancellationError())
        }
    }

    private func leave() {
        let unwanted = state.withLock { state -> Task<Void, Never>? in
            state.waiterCount -= 1
            return state.waiterCount == 0 && state.publication == nil ? state.task : nil
        }
        unwanted?.cancel()
    }

    /// Hands the head to everyone who waits, in the order in which they came.
    func publish(_ publication: Publication) {
        let answers = state.withLock { state in
            state.publication = publication
            let waiting = state.waiting.sorted { $0.key < $1.key }.map(\.value)
            state.waiting = [:]
            return waiting.map { ($0, state.answer()) }
        }
        for (waiter, answer) in answers { waiter.resume(with: answer) }
    }
}

extension Fill.State {
    fileprivate mutating func answer() -> Result<Fill.Answer, any Error> {
        switch publication {
        case .shared(let head, let response, let body):
            // A caller that joins when the body's beginning is gone asks on its own.
            guard let reader = body.makeReader() else { return .success(.released(response.status)) }
            return .success(.shared(head, response, reader, isStoring: body.isStoring))
        case .unshared(let response, let responseTime):
            if isExclusiveTaken { return .success(.released(response.head.status)) }
            isExclusiveTaken = true
            return .success(.exclusive(response, responseTime: responseTime))
        case .validated(let stored): return .success(.validated(stored))
        case .failed(let error): return .failure(error)
        case nil: return .failure(CancellationError())
        }
    }
}
