package import HTTPCacheSemantics

/// The result of a request if its origin could not be reached: now, or after an outage of an hour
/// or a day.
///
/// It decides nothing itself: it asks ``ReuseMachine`` what an exchange asks in an outage.
package struct OfflineForecast: Sendable {
    /// A request and what was stored for it when it came.
    package struct Subject: Sendable {
        private let prepared: PreparedRequest
        private let candidates: [StoredResponse]

        init(_ prepared: PreparedRequest, _ candidates: [StoredResponse]) {
            self.prepared = prepared
            self.candidates = candidates
        }

        /// A copy to be kept: it holds nothing of the client and of its exchange.
        package var detached: Subject { Subject(prepared.renewing(prepared.request.head), candidates) }

        /// Counts requests of this kind for the rules that apply to them.
        package func countUses(_ count: Int64) { prepared.rules?.countUses(count) }

        /// Looks ahead from an instant.
        package func forecast(at now: Timestamp) -> OfflineForecast { OfflineForecast(prepared, candidates, at: now) }
    }

    /// Why it could not be answered now; `nil` if it could.
    package let refusal: ExchangeError?
    /// Whether it could be answered after an hour.
    package let isAnswerableAfterHour: Bool
    /// The same after a day.
    package let isAnswerableAfterDay: Bool

    private static let hour: Int64 = 3_600_000
    private static let day: Int64 = 86_400_000

    private init(_ prepared: PreparedRequest, _ candidates: [StoredResponse], at now: Timestamp) {
        func refusal(in time: Int64) -> ExchangeError? {
            let instant = Timestamp(milliseconds: now.milliseconds + time)
            return Self.refusal(prepared, candidates, at: instant)
        }
        self.refusal = refusal(in: 0)
        // Nothing comes into the store in an outage.
        isAnswerableAfterHour = !candidates.isEmpty && refusal(in: Self.hour) == nil
        isAnswerableAfterDay = !candidates.isEmpty && refusal(in: Self.day) == nil
    }

    private static func refusal(
        _ prepared: PreparedRequest,
        _ candidates: [StoredResponse],
        at instant: Timestamp
    ) -> ExchangeError? {
        var machine = ReuseMachine(prepared, now: instant)
        var action = machine.decide(on: prepared.key == nil || prepared.request.ignoresStored ? [] : candidates)
        if case .fetch = action { action = machine.originFailed(unreachable) }
        guard case .refuse(let refusal) = action else { return nil }
        return refusal
    }

    /// The error of a connection that cannot be made.
    private static let unreachable = TransportError(code: .connect, message: "The origin could not be reached.")
}
