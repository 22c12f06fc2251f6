import HTTPCache
import HTTPCacheSemantics
import HTTPTypes

/// A dry run of an exchange. It consults ``ReuseMachine`` in the same order as ``Exchange``, but
/// does not perform any action.
///
/// It makes no decisions of its own: every result comes from the machine.
struct DryRun {
    /// The assumed state of the origin and the mode.
    enum Situation: Sendable, CaseIterable {
        case reachable, unreachable, failing, offline
    }

    /// The last stage at which the machine was consulted.
    enum Stage: Sendable {
        /// The result of the lookup.
        case lookedUp
        /// The origin recently failed for this key.
        case recentFailure
        /// The origin's circuit breaker is open.
        case breakerOpen
        /// The request was sent to the origin, which may have responded with an error or not at
        /// all.
        case asked
    }

    enum Course: Sendable {
        case serve(ReuseMachine.Serve)
        case fetch(PlannedFetch)
        /// The origin's error is passed to the caller.
        case pass(PlannedFetch, status: HTTPResponse.Status)
        case refuse(ExchangeError)
    }

    struct Outcome: Sendable {
        var course: Course
        var stage: Stage
        /// The stored response that was examined, and the policy's decision about it.
        var considered: (stored: StoredResponse, reuse: Reuse)?
        var preference: CacheRequest.Preference
        var mode: OfflineMode
        /// Whether the served response is refreshed in the background.
        var isRefreshed = false
    }

    let prepared: PreparedRequest
    /// The engine's ``EngineOptions/eagerRefresh``, used unless a rule overrides it.
    let eagerRefresh: Double?
    /// The stored responses that the lookup returned.
    let candidates: [StoredResponse]
    let recentFailure: @Sendable (Timestamp) -> FailureThrottle.Failure?
    /// Whether the breaker treats the origin as unreachable for this request.
    let isOriginUnreachable: Bool
    /// Whether the breaker would allow this request as a trial.
    let isAdmitted: Bool
    /// The stored responses whose bodies are missing.
    var gone: Set<StoredResponse.ID> = []
    /// The rules that decided each setting, for the sentences.
    var decisions: [RuleDecision] = []

    var policy: CachePolicy { prepared.policy }

    func outcome(in situation: Situation, at now: Timestamp) -> Outcome {
        guard prepared.key != nil else { return forwarding(in: situation, at: now) }
        let mode = situation == .offline ? OfflineMode.offline : nil
        var machine = ReuseMachine(prepared, mode: mode, now: now, eagerRefresh: eagerRefresh)
        var rest = candidates
        var action = machine.decide(on: rest)
        while case .serve(let serve) = action, gone.contains(serve.stored.id) {
            rest.removeAll { $0.id == serve.stored.id }
            action = machine.decide(on: rest)
        }
        let (course, stage) = follow(action, machine, situation, now)
        var outcome = Outcome(
            course: course,
            stage: stage,
            considered: machine.considered,
            preference: machine.preference,
            mode: machine.mode
        )
        if case .serve(let serve) = course, stage == .lookedUp {
            outcome.isRefreshed = machine.isRefreshed(
                serve,
                recent: recentFailure(now),
                isOriginUnreachable: isOriginUnreachable,
                isReplayable: prepared.request.isReplayable
            )
        }
        return outcome
    }

    private func follow(
        _ action: ReuseMachine.Action,
        _ machine: ReuseMachine,
        _ situation: Situation,
        _ now: Timestamp
    ) -> (Course, Stage) {
        switch action {
        case .serve(let serve): return (.serve(serve), .lookedUp)
        case .refuse(let refusal):
            let recent = recentFailure(now)
            switch machine.alternativeToRefusing(recent, isOriginUnreachable: isOriginUnreachable) {
            case .serve(let serve, let isRecent)? where !gone.contains(serve.stored.id):
                return (.serve(serve), isRecent ? .recentFailure : .breakerOpen)
            case .refuse(let reason)?: return (.refuse(reason), .breakerOpen)
            case .serve?, .ask?, nil: return (.refuse(refusal), .lookedUp)
            }
        case .fetch(let fetch):
            let recent = recentFailure(now)
            switch machine.alternativeToAsking(recent, isOriginUnreachable: isOriginUnreachable) {
            case .serve(let serve, let isRecent) where !gone.contains(serve.stored.id):
                return (.serve(serve), isRecent ? .recentFailure : .breakerOpen)
            case .refuse(let refusal) where !isAdmitted: return (.refuse(refusal), .breakerOpen)
            case .serve, .refuse, .ask: return (course(of: fetch, machine, situation), .asked)
            }
        }
    }

    private func course(
        of fetch: PlannedFetch,
        _ machine: ReuseMachine,
        _ situation: Situation
    ) -> Course {
        switch situation {
        case .reachable, .offline: return .fetch(fetch)
        case .unreachable:
            switch machine.originFailed(Self.unreachable) {
            case .serve(let serve) where gone.contains(serve.stored.id):
                return .refuse(.bodyGone(Self.unreachable))
            case .serve(let serve): return .serve(serve)
            case .refuse(let refusal): return .refuse(refusal)
            case .fetch(let fetch): return .fetch(fetch)
            }
        case .failing:
            guard let serve = machine.originResponded(status: .serviceUnavailable), !gone.contains(serve.stored.id)
            else { return .pass(fetch, status: .serviceUnavailable) }
            return .serve(serve)
        }
    }

    /// Returns the outcome of a request that bypasses the store, because its method, its content, a
    /// rule or the caller excludes stored responses.
    private func forwarding(in situation: Situation, at now: Timestamp) -> Outcome {
        let (request, mode) = (prepared.request, situation == .offline ? .offline : prepared.mode)
        let fetch = PlannedFetch(forwarding: request)
        var course = Course.fetch(fetch)
        if let refusal = prepared.refusalToForward(mode: mode) {
            course = .refuse(refusal)
        } else if situation == .unreachable, let refusal = prepared.refusal(after: Self.unreachable, at: now) {
            course = .refuse(refusal)
        } else if situation == .failing {
            course = .pass(fetch, status: .serviceUnavailable)
        }
        return Outcome(course: course, stage: .asked, preference: request.preference, mode: mode)
    }

    /// The error for a connection that cannot be opened.
    static let unreachable = TransportError(code: .connect, message: "The origin could not be reached.")
}
