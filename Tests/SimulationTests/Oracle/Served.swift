import HTTPCacheSemantics
import HTTPTypes

/// A served stored response as the oracle sees it: the origin's own words, and its own arithmetic.
/// RFC 9111 §4.2
struct Served {
    let isShared: Bool
    let status: Int
    let rules: Rules
    let isTargeted: Bool
    /// Milliseconds, all of them.
    let age: Int64
    let lifetime: Int64
    let explicitExpiry: Timestamp?
    let isInvalidated: Bool

    /// - Parameters:
    ///   - last: the response that the head comes from (a 200, a 304 or a HEAD).
    ///   - now: when the call began.
    ///   - claimedAge: the age that the cache states. A response ahead of the clock has an unknown
    ///     age, and one that came during the call has none. The oracle does not distinguish these.
    init(
        _ fields: HTTPFields,
        explicitExpiry: Timestamp?,
        status: Int,
        last: OriginEntry,
        now: Int64,
        world: World,
        isInvalidated: Bool,
        claimedAge: Int64 = 0
    ) {
        isShared = world.configuration.kind == .shared
        self.status = status
        let targeted = isShared ? fields[.targeted] : nil
        isTargeted = targeted != nil
        rules = Rules(targeted ?? fields[.cacheControl])
        self.isInvalidated = isInvalidated
        self.explicitExpiry = explicitExpiry

        let received = last.fateAt
        // `Date` has whole seconds, so apparent age is in seconds. Without `Date`, the time of
        // receipt is used.
        let date = last.date ?? Self.seconds(received)
        let apparentAge = max(0, Self.seconds(received) - date) * 1000
        let responseDelay = max(0, received - last.arrivedAt)
        let ageValue = (last.fields[.age].flatMap { Int64($0) } ?? 0) * 1000
        let isUnknown = claimedAge == .max && received - now > 5000 && explicitExpiry != .distantFuture
        age = isUnknown ? .max : max(apparentAge, ageValue + responseDelay) + max(0, now - received)

        var lifetime: Int64 = 0
        // A 304 without `Date` gets the second of its receipt, which a recipient with a clock adds.
        // RFC 9110 §6.6.1
        let isDated = fields[.date] != nil
        let dateTime = last.date.map { $0 * 1000 } ?? (isDated ? Self.seconds(received) * 1000 : received)
        if isShared, let time = rules.time("s-maxage") {
            lifetime = time
        } else if let time = rules.time("max-age") {
            lifetime = time
        } else if !isTargeted, let expires = fields[.expires].flatMap({ world.dates[$0] }) {
            lifetime = max(0, expires * 1000 - dateTime)
        } else if let modified = fields[.lastModified].flatMap({ world.dates[$0] }),
            [200, 203, 204, 206, 404, 410].contains(status) || rules.has("public")
        {
            lifetime = min(max(0, dateTime - modified * 1000) / 10, 86_400_000)
        }
        if status == 400 { lifetime = min(lifetime, 60_000) }
        self.lifetime = lifetime
        self.now = now
    }

    let now: Int64

    private static func seconds(_ milliseconds: Int64) -> Int64 { milliseconds / 1000 }

    var isOfUnknownAge: Bool { age == .max }
    var timeToLive: Int64 {
        if isOfUnknownAge { return lifetime - age }
        return explicitExpiry.map { $0.milliseconds &- now } ?? lifetime - age
    }
    var isFresh: Bool { timeToLive > 0 }
    private var staleness: Int64 { -timeToLive }

    private func covers(_ time: Int64?) -> Bool {
        guard let time, time > 0, status != 400 else { return false }
        return staleness <= time
    }

    private var allowsRevalidating: Bool { explicitExpiry == nil && covers(rules.time("stale-while-revalidate")) }

    /// Whether a directive forbids stale use, regardless of a caller's or an operator's permission.
    /// RFC 9111 §4.2.4
    private var isNeverStale: Bool {
        guard explicitExpiry == nil else { return false }
        if rules.has("must-revalidate") || rules.needsValidation || rules.forbidsStorage { return true }
        return isShared && (rules.isWhole("private") || rules.has("proxy-revalidate"))
    }

    /// Whether it may be served stale when the origin is unreachable.
    func mayBeUsedStale(by call: Call) -> Bool {
        if isNeverStale || isClosed(to: call) { return false }
        guard isShared, explicitExpiry == nil, rules.has("s-maxage") else { return true }
        return allowsRevalidating || covers(rules.time("stale-if-error"))
    }

    func allowsStaleOnError(_ call: Call) -> Bool {
        guard mayBeUsedStale(by: call), !isInvalidated, status < 400 else { return false }
        let wish = Rules(call.fields[.cacheControl]).time("stale-if-error")
        return isFresh || covers(rules.time("stale-if-error")) || covers(call.extendedStaleness)
            || (wish.map { $0 > 0 && staleness <= $0 } ?? false)
    }

    /// Whether the request has a cookie in a shared cache, and the response does not permit
    /// sharing.
    private func isClosed(to call: Call) -> Bool {
        isShared && call.fields[.cookie] != nil && !rules.isForEverybody
    }

    /// Whether it may be served without the origin, by RFC 9111 §4 alone.
    ///
    /// - Parameter isSameCaller: whether the caller has the credentials of the original request.
    func mayBeServed(_ call: Call, isSameCaller: Bool = false) -> Bool {
        if isInvalidated { return false }
        let wishes = Rules(call.fields[.cacheControl])
        if !isFresh {
            if isNeverStale { return false }
            if isShared, explicitExpiry == nil, rules.has("s-maxage"), !allowsRevalidating { return false }
            let isAccepted = wishes.isWhole("max-stale") || (wishes.time("max-stale").map { staleness <= $0 } ?? false)
            if !isAccepted && !allowsRevalidating { return false }
        }
        if explicitExpiry == nil {
            if rules.needsValidation || rules.forbidsStorage { return false }
            if isShared && rules.isWhole("private") { return false }
        }
        if wishes.has("no-cache") { return false }
        if let limit = wishes.time("max-age"), limit == 0 || age > limit { return false }
        if let rest = wishes.longest("min-fresh"), timeToLive < rest { return false }
        return isSameCaller || !isClosed(to: call)
    }
}
