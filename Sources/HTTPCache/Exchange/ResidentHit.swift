import HTTPCacheSemantics
package import NIOCore

/// A fresh stored response that is in memory and answers: decided at once, with nothing to wait
/// for.
///
/// What ``CacheEngine/respond(to:)`` answers in the same moment is the same.
///
/// A class, because it is handed on many times and holds much.
package final class ResidentHit: Sendable {
    /// The answer.
    package let response: CacheResponse
    /// Its content in one piece; empty where the answer has none.
    package let content: ByteBuffer
    /// What must be so still for another request of the same bytes to be answered with the same;
    /// `nil` where that is not to be told.
    package let conditions: Conditions?

    init(response: CacheResponse, content: ByteBuffer, conditions: Conditions?) {
        self.response = response
        self.content = content
        self.conditions = conditions
    }

    /// What an answer rests on, beside the request: what is stored under its keys, mode, rules, and
    /// time.
    package struct Conditions: Sendable {
        let found: FoundResponses
        let sequence: InvalidationSequence
        let settings: UInt64
        /// When it was decided. Of several variants one may be the best before that instant that
        /// was not after it.
        let since: Timestamp
        let responseTime: Timestamp
        /// Milliseconds: `corrected_initial_age`. RFC 9111 §4.2.3
        let initialAge: Int64
        /// Milliseconds of age from which it does not hold.
        let ageLimit: Int64
        /// Milliseconds for which the response is fresh, from when it was made at the origin.
        package let lifetime: Int64

        /// The longest lifetime there is, in milliseconds: 2³¹ seconds. RFC 9111 §1.2.2
        static let lifetimeLimit: Int64 = (1 << 31) * 1000

        /// Its age in milliseconds, RFC 9111 §4.2.3; `nil` where the time is over, or has been set
        /// back.
        func age(at now: Timestamp) -> Int64? {
            guard now >= since else { return nil }
            let age = initialAge + max(0, now.milliseconds(since: responseTime))
            return age < ageLimit ? age : nil
        }
    }
}

extension ResidentHit.Conditions {
    /// Whether a store has the same still. It counts as a use of what is stored.
    func hold(in store: any ResponseStore) -> Bool {
        guard store.invalidationSequence == sequence else { return false }
        return found.own.isPresent(in: store) && found.shared?.isPresent(in: store) ?? true
    }
}

extension FoundResponses.UnderKey {
    /// Whether memory has the same still.
    fileprivate func isPresent(in store: any ResponseStore) -> Bool {
        guard let present = store.resident(key), present.count == responses.count else { return false }
        for index in responses.indices where !present[index].isSame(as: responses[index]) { return false }
        return true
    }
}

extension StoredResponse {
    /// Whether nothing has happened to it: every change of its head brings a new ``content``, or
    /// another time.
    fileprivate func isSame(as other: StoredResponse) -> Bool {
        id == other.id && content === other.content && head.responseTime == other.head.responseTime
            && head.invalidation == other.head.invalidation
    }
}
