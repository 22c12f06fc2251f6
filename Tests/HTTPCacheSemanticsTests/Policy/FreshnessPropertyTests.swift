import Foundation
import HTTPCacheSemantics
import HTTPTypes
import Testing

/// Properties of the freshness of any stored response, with any fields and at any time.
///
/// A failure names its seed and round; `HOLDFAST_CASES=1000000` tries more of them.
@Suite(.tags(.rfc9111Freshness, .rfc9111Freshening))
struct FreshnessPropertyTests {
    static let seeds: [UInt64] = [1, 0xC0FFEE, 20_260_301]
    private static let rounds = ProcessInfo.processInfo.environment["HOLDFAST_CASES"].flatMap { Int($0) } ?? 3000

    /// Stores sweep by an index of ``CachePolicy/freshUntil(_:)``, and
    /// ``CachePolicy/reuse(of:for:at:)`` decides about requests: two paths to one fact.
    @Test(arguments: seeds)
    func indexNeverCallsAFreshResponseExpired(seed: UInt64) {
        var random = RandomMessages(seed: seed)
        for round in 0..<Self.rounds {
            let policy = random.policy()
            let stored = random.stored()
            let now = random.instant(extremes: 0.3)
            let reuse = policy.reuse(of: stored, for: random.request(), at: now)
            let until = policy.freshUntil(stored)
            if reuse.decision == .fresh || reuse.freshness.isFresh {
                #expect(now < until, "seed \(seed), round \(round): fresh at \(now), indexed until \(until)")
            }
            // The reverse holds if no number was so large that it was clamped.
            let instants = [now, stored.requestTime, stored.responseTime, stored.explicitExpiry ?? now]
            guard instants.allSatisfy({ $0.milliseconds.magnitude < 1 << 60 }), now >= stored.responseTime else {
                continue
            }
            if !reuse.freshness.isFresh {
                #expect(now >= until, "seed \(seed), round \(round): stale at \(now), indexed until \(until)")
            }
        }
    }

    /// RFC 9111 §4.3.5. A new head on an old body is a wrong response that looks new.
    @Test(arguments: seeds)
    func headFreshensOnlyWithAStoredValidator(seed: UInt64) {
        var random = RandomMessages(seed: seed)
        for round in 0..<Self.rounds {
            let policy = random.policy()
            let stored = random.stored(extremes: 0)
            let fields = random.responseFields()
            let now = stored.responseTime.adding(milliseconds: random.number(0...200_000))
            let update = policy.headUpdate(
                of: stored,
                bodyLength: 5,
                by: response(fields),
                to: random.request(method: .head),
                requestTime: now,
                responseTime: now
            )
            let agreement = Agreement(stored, fields)
            var after = stored
            switch update {
            case .freshen(let head): after = head
            case .invalidate: after.isInvalidated = true
            case .unrelated: break
            }
            if !agreement.isEqualInOne {
                expectNoFresher(after, than: stored, from: now, policy, &random, "seed \(seed), round \(round)")
                #expect(after.fields == stored.fields, "seed \(seed), round \(round): fields without a validator")
            }
            if agreement.differs, update != .invalidate {
                // Only a response that must not be examined is skipped.
                #expect(update == .unrelated && policy.kind == .shared, "seed \(seed), round \(round): \(fields)")
            }
        }
    }

    /// RFC 9111 §4.3.4. A 304 without a validator concerns the response whose validators were sent.
    @Test(arguments: seeds)
    func notModifiedFreshensOnlyWithTheStoredValidators(seed: UInt64) {
        var random = RandomMessages(seed: seed)
        for round in 0..<Self.rounds {
            let policy = random.policy()
            let stored = random.stored(extremes: 0)
            let fields = random.responseFields()
            let now = stored.responseTime.adding(milliseconds: random.number(0...200_000))
            let isOwn = random.chance(0.5)
            let own = isOwn ? request([("If-None-Match", random.pick(RandomMessages.tags))]) : nil
            let freshened = policy.freshened(
                stored,
                by: response(fields, status: 304),
                requestTime: now,
                responseTime: now,
                request: own
            )
            let agreement = Agreement(stored, fields)
            guard agreement.hasValidator, !agreement.isEqualInOne else { continue }
            #expect(freshened == nil, "seed \(seed), round \(round): \(stored.fields) by \(fields)")
            let after = freshened ?? stored
            expectNoFresher(after, than: stored, from: now, policy, &random, "seed \(seed), round \(round)")
        }
    }

    /// RFC 9111 §3.4: only a strong validator allows parts to be combined, and the whole to be
    /// freshened.
    @Test(arguments: seeds)
    func combinesPartsOnlyWithTheSameStrongValidator(seed: UInt64) {
        var random = RandomMessages(seed: seed)
        for round in 0..<Self.rounds {
            let policy = random.policy()
            let stored = random.stored(extremes: 0)
            let range = ("Content-Range", random.pick(["bytes 0-4/10", "bytes 5-9/10", "bytes 2-6/10", "bytes 0-4/5"]))
            let fields = random.responseFields().filter { $0.0 != "Content-Length" } + [range]
            let now = stored.responseTime.adding(milliseconds: random.number(0...200_000))
            let combined = policy.combined(
                stored,
                bodyLength: 5,
                with: response(fields, status: 206),
                requestTime: now,
                responseTime: now,
                request: request([("Range", "bytes=5-")])
            )
            guard combined != nil else { continue }
            let agreement = Agreement(stored, fields)
            #expect(agreement.isStronglyEqual, "seed \(seed), round \(round): \(stored.fields) with \(fields)")
        }
    }

    private func expectNoFresher(
        _ after: StoredResponseHead,
        than before: StoredResponseHead,
        from now: Timestamp,
        _ policy: CachePolicy,
        _ random: inout RandomMessages,
        _ place: String
    ) {
        for _ in 0..<3 {
            let instant = now.adding(milliseconds: random.number(0...100_000) * random.pick([1, 1000]))
            let (old, new) = (
                policy.reuse(of: before, for: request(), at: instant),
                policy.reuse(of: after, for: request(), at: instant)
            )
            #expect(new.freshness.millisecondsToLive <= old.freshness.millisecondsToLive, "\(place): lives longer")
            #expect(new.decision != .fresh || old.decision == .fresh, "\(place): fresh at \(instant), and was not")
        }
    }
}

/// The comparison of a response's validators with the stored ones, by the plainest reading of RFC
/// 9110 §8.8.
private struct Agreement {
    /// Whether the response has an `ETag` or a `Last-Modified`, valid or not.
    let hasValidator: Bool
    let isEqualInOne: Bool
    /// Equal strong entity tags, or no tag in either and equal dates.
    let isStronglyEqual: Bool
    /// Whether a validator or the length differs from the stored one.
    let differs: Bool

    init(_ stored: StoredResponseHead, _ fields: [(String, String)]) {
        let tag = Self.first("ETag", fields)
        let date = Self.first("Last-Modified", fields)
        hasValidator = tag != nil || date != nil
        let storedTag = stored.fields[values: .eTag].first
        let sameTag: Bool
        if let tag, let storedTag {
            let isMalformed = !Self.isTag(tag) || !Self.isTag(storedTag)
            let weak = { (text: String) in text.hasPrefix("W/") ? String(text.dropFirst(2)) : text }
            // A strong tag names exact bytes, so a weak stored one does not confirm it.
            let isStrong = tag.hasPrefix("W/") || !storedTag.hasPrefix("W/")
            sameTag = isMalformed ? tag == storedTag : weak(tag) == weak(storedTag) && isStrong
            isStronglyEqual = !isMalformed && tag == storedTag && !tag.hasPrefix("W/")
        } else {
            sameTag = false
            isStronglyEqual =
                tag == nil && storedTag == nil && Self.isSameDate(date, stored.fields[values: .lastModified].first)
        }
        let sameDate = Self.isSameDate(date, stored.fields[values: .lastModified].first)
        isEqualInOne = sameTag || sameDate
        let length = Self.first("Content-Length", fields)
        let isOtherLength = stored.status.code != 206 && length != nil && length != "5" && length != "5, 5"
        differs = isOtherLength || (tag != nil && !sameTag) || (date != nil && !sameDate)
    }

    private static func first(_ name: String, _ fields: [(String, String)]) -> String? {
        fields.first { $0.0 == name }?.1
    }

    private static func isTag(_ text: String) -> Bool {
        ["\"1\"", "\"2\"", "W/\"1\"", "W/\"2\""].contains(text)
    }

    private static func isSameDate(_ left: String?, _ right: String?) -> Bool {
        guard let left, let right, let one = instant(left), let other = instant(right) else { return false }
        return one == other
    }

    private static func instant(_ text: String) -> Timestamp? { HTTPDate.parse(text, reference: noon) }
}
