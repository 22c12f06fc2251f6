import HTTPCacheSemantics
import HTTPTypes
package import NIOCore

/// A stored response whose content is in memory, so it is served without waiting.
///
/// ``CacheEngine/respond(to:)`` would serve the same response at the same moment.
///
/// A class, because it is large and is passed through several functions.
package final class ImmediateHit: Sendable {
    package let response: CacheResponse
    /// The response's content in one piece; empty if it has none.
    package let content: ByteBuffer
    /// The conditions under which another request with the same bytes gets the same response; `nil`
    /// if they are unknown, or if the response is not fresh.
    package let conditions: Conditions?

    init(response: CacheResponse, content: ByteBuffer, conditions: Conditions?) {
        self.response = response
        self.content = content
        self.conditions = conditions
    }

    /// The facts, apart from the request, that a hit depends on: the responses stored under its
    /// keys, the mode, the rules, and the time.
    package struct Conditions: Sendable {
        let status: Int
        let method: HTTPRequest.Method
        let found: FoundResponses
        let sequence: InvalidationSequence
        /// See ``CacheEngine/settingsVersion``.
        package let settings: UInt64
        /// When the hit was decided. At an earlier time, another variant might be selected.
        let since: Timestamp
        let responseTime: Timestamp
        /// The `corrected_initial_age`, in milliseconds. RFC 9111 §4.2.3
        let initialAge: Int64
        /// The age in milliseconds at which the conditions end.
        let ageLimit: Int64
        /// The freshness lifetime, in milliseconds since the origin generated the response.
        package let lifetime: Int64

        /// The maximum lifetime: 2³¹ seconds, in milliseconds. RFC 9111 §1.2.2
        static let lifetimeLimit: Int64 = (1 << 31) * 1000

        /// Returns the response's age in milliseconds (RFC 9111 §4.2.3); `nil` if the age limit is
        /// reached, or if the clock was set back.
        func age(at now: Timestamp) -> Int64? {
            guard now >= since else { return nil }
            let age = initialAge + max(0, now.milliseconds(since: responseTime))
            return age < ageLimit ? age : nil
        }
    }
}

extension ImmediateHit.Conditions {
    /// Returns whether a store still has the same responses. This counts as a use of the responses.
    func hold(in store: any ResponseStore) -> Bool {
        guard store.invalidationSequence == sequence else { return false }
        return found.own.isPresent(in: store) && found.common?.isPresent(in: store) ?? true
    }
}

extension FoundResponses.UnderKey {
    /// Returns whether memory still has the same responses.
    fileprivate func isPresent(in store: any ResponseStore) -> Bool {
        guard let present = store.resident(key), present.count == responses.count else { return false }
        for index in responses.indices where !present[index].isSame(as: responses[index]) { return false }
        return true
    }
}

extension StoredResponse {
    /// Returns whether the response is unchanged. Every change of its head comes with a new
    /// ``content``, response time or invalidation.
    fileprivate func isSame(as other: StoredResponse) -> Bool {
        id == other.id && content === other.content && head.responseTime == other.head.responseTime
            && head.invalidation == other.head.invalidation
    }
}

extension ExchangeFlow {
    /// Returns the conditions of a hit; `nil` if the response is not clearly fresh, or if the
    /// request, a rule or a caller makes the hit depend on time in another way.
    ///
    /// - Parameters:
    ///   - found: all responses stored under the request's keys.
    ///   - sequence: the store's ``ResponseStore/invalidationSequence`` before the lookup.
    func conditions(
        of serve: Serve,
        _ response: CacheResponse,
        _ found: FoundResponses,
        _ sequence: InvalidationSequence
    ) -> ImmediateHit.Conditions? {
        let fields = prepared.request.head.headerFields
        let (stored, freshness) = (serve.stored, serve.freshness)
        guard prepared.contact == .lasting, serve.outcome.isHit, serve.outcome.detail == nil, freshness.isFresh,
            !stored.head.isInvalidated,
            !fields.contains(.cacheControl), !fields.contains(where: { $0.name.canonicalName == "pragma" }),
            !prepared.request.hasRareParts, !prepared.isSeenByJob, stored.head.explicitExpiry == nil,
            freshness.lifetime.milliseconds <= ImmediateHit.Conditions.lifetimeLimit,
            prepared.settings(for: stored.head.fields)?.responseFields.mayTouchTime != true
        else { return nil }
        return ImmediateHit.Conditions(
            status: response.head.status.code,
            method: prepared.method,
            found: found,
            sequence: sequence,
            settings: prepared.settingsVersion,
            since: now,
            responseTime: stored.head.responseTime,
            initialAge: freshness.age.correctedInitialAge,
            ageLimit: machine.changingAge(stored, freshness),
            lifetime: freshness.lifetime.milliseconds
        )
    }
}

extension FieldEdits {
    /// Whether the edits change a field that states the response's age.
    fileprivate var mayTouchTime: Bool {
        [HTTPField.Name.age, .date].contains { removed.contains($0) || set.contains($0) }
    }
}
