package import HTTPCacheSemantics
import HTTPTypes

/// A forecast of how a request would end if its origin were unreachable: now, after an hour, and
/// after a day of an outage.
///
/// It makes no decisions of its own: it asks ``ReuseMachine`` the same questions as an exchange
/// during an outage.
package struct OfflineForecast: Sendable {
    /// A request and the responses stored for it when it arrived.
    package struct Subject: Sendable {
        private let prepared: PreparedRequest
        private let candidates: [StoredResponse]

        init(_ prepared: PreparedRequest, _ candidates: [StoredResponse]) {
            self.prepared = prepared
            self.candidates = candidates
        }

        /// Whether a response is stored for the request, or for another variant of it.
        package var isStored: Bool { !candidates.isEmpty }

        /// Whether the content is known only by a digest that the rules do not key, so the stored
        /// responses for the request are unknown.
        package var hasOtherDigest: Bool { prepared.request.hasOtherDigest(prepared.settings) }

        /// The status of a stored error, such as 404, which is served only while it is fresh; `nil`
        /// if no error is stored.
        package var storedError: Int? { candidates.map(\.head.status.code).first { $0 >= 400 } }

        /// A copy to keep, without references to the client or its exchange.
        package var detached: Subject { Subject(prepared.renewing(prepared.request.head), candidates) }

        /// Counts requests of this kind for the rules that apply to them.
        package func countUses(_ count: Int64) { prepared.rules?.countUses(count) }

        /// Returns the error with which the request would end in the mode `offline` at a time;
        /// `nil` if it could be answered.
        package func offlineRefusal(at instant: Timestamp) -> ExchangeError? {
            if prepared.key == nil { return prepared.refusalToForward(mode: .offline) }
            var machine = ReuseMachine(prepared, mode: .offline, now: instant)
            guard case .refuse(let refusal) = machine.decide(on: candidates) else { return nil }
            return refusal
        }

        /// Returns the forecast for an outage that begins at the given time.
        package func forecast(at now: Timestamp) -> OfflineForecast { OfflineForecast(prepared, candidates, at: now) }
    }

    /// The error with which the request would end now; `nil` if it could be answered.
    package let refusal: ExchangeError?
    /// Whether it could be answered after an hour.
    package let isAnswerableAfterHour: Bool
    /// Whether it could be answered after a day.
    package let isAnswerableAfterDay: Bool

    private static let hour: Int64 = 3_600_000
    private static let day: Int64 = 86_400_000

    private init(_ prepared: PreparedRequest, _ candidates: [StoredResponse], at now: Timestamp) {
        func refusal(in time: Int64) -> ExchangeError? {
            let instant = Timestamp(milliseconds: now.milliseconds + time)
            return Self.refusal(prepared, candidates, at: instant)
        }
        self.refusal = refusal(in: 0)
        // Nothing is added to the store during an outage.
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

    /// The error for a connection that cannot be opened.
    private static let unreachable = TransportError(code: .connect, message: "The origin could not be reached.")
}
