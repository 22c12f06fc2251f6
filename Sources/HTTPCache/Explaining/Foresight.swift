import HTTPCacheSemantics
import HTTPTypes

/// What an exchange would come to: ``ExchangeMachine`` asked what ``Exchange`` asks it, in the same
/// order, and nothing performed.
///
/// It decides nothing: each answer is one of the machine's.
struct Foresight {
    /// How the origin takes it, should it be asked.
    enum Situation: Sendable, CaseIterable {
        case reachable, unreachable, failing, offline
    }

    /// What the machine was asked last.
    enum Question: Sendable {
        /// What the store found.
        case lookedUp
        /// The origin failed for this key a moment ago.
        case recentFailure
        /// The origin counts as away.
        case away
        /// The origin gave no answer, or an error.
        case asked
    }

    enum Course: Sendable {
        case serve(ExchangeMachine.Serve)
        case fetch(ExchangeMachine.Fetch)
        /// The origin's error goes to the caller.
        case pass(ExchangeMachine.Fetch, status: HTTPResponse.Status)
        case refuse(ExchangeError)
    }

    struct Outcome: Sendable {
        var course: Course
        var question: Question
        /// What the policy says of the stored response that counted.
        var considered: (stored: StoredResponse, reuse: Reuse)?
        var preference: CacheRequest.Preference
        var mode: OfflineMode
        /// What is served is renewed in the background.
        var isRefreshed = false
    }

    let prepared: PreparedRequest
    /// The engine's, where no rule says otherwise.
    let eagerRefresh: Double?
    /// What the store found.
    let candidates: [StoredResponse]
    let recentFailure: @Sendable (Timestamp) -> FailureThrottle.Failure?
    /// The origin counts as away.
    let isOriginUnreachable: Bool
    /// A request that nothing stored can answer is sent all the same.
    let isAdmitted: Bool
    /// Stored responses whose bodies are gone.
    var gone: Set<StoredResponse.ID> = []
    /// Which rules decided what, for words.
    var decisions: [RuleDecision] = []

    var policy: CachePolicy { prepared.policy }

    /// The machine of an exchange in a situation.
    func machine(in situation: Situation, at now: Timestamp) -> ExchangeMachine {
        ExchangeMachine(
            prepared,
            mode: situation == .offline ? .offline : nil,
            now: now,
            eagerRefresh: eagerRefresh
        )
    }

    func outcome(in situation: Situation, at now: Timestamp) -> Outcome {
        var machine = machine(in: situation, at: now)
        var rest = candidates
        var action = machine.lookedUp(rest)
        while case .serve(let serve) = action, gone.contains(serve.stored.id) {
            action = machine.bodyGone(serve.stored, among: rest)
            rest.removeAll { $0.id == serve.stored.id }
        }
        let (course, question) = follow(action, machine, situation, now)
        var outcome = Outcome(
            course: course,
            question: question,
            considered: machine.considered,
            preference: machine.preference,
            mode: machine.mode
        )
        if case .serve(let serve) = course, question == .lookedUp {
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
        _ action: ExchangeMachine.Action,
        _ machine: ExchangeMachine,
        _ situation: Situation,
        _ now: Timestamp
    ) -> (Course, Question) {
        switch action {
        case .serve(let serve): return (.serve(serve), .lookedUp)
        case .refuse(let refusal): return (.refuse(refusal), .lookedUp)
        case .fetch(let fetch):
            let recent = recentFailure(now)
            switch machine.insteadOfAsking(recent, isOriginUnreachable: isOriginUnreachable) {
            case .serve(let serve, let isRecent) where !gone.contains(serve.stored.id):
                return (.serve(serve), isRecent ? .recentFailure : .away)
            case .refuse(let refusal) where !isAdmitted: return (.refuse(refusal), .away)
            case .serve, .refuse, .ask: return (course(of: fetch, machine, situation), .asked)
            }
        }
    }

    private func course(
        of fetch: ExchangeMachine.Fetch,
        _ machine: ExchangeMachine,
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
            guard let serve = machine.originAnswered(status: .serviceUnavailable), !gone.contains(serve.stored.id)
            else { return .pass(fetch, status: .serviceUnavailable) }
            return .serve(serve)
        }
    }

    /// No connection.
    static let unreachable = TransportError(code: .connect, message: "The origin could not be reached.")
}
