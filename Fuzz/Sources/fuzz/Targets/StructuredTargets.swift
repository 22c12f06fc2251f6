import HTTPTypes

@testable import HTTPCacheSemantics

/// A line with a cache's name and a line of numbers, which make an outcome; then the earlier lines
/// of `Cache-Status`.
func cacheStatus(_ bytes: UnsafeBufferPointer<UInt8>) {
    var input = FuzzInput(bytes)
    let name = input.text()
    let numbers = input.numbers()
    let fields = input.lines(of: HTTPField.Name(token: "Cache-Status"))
    let earlier = CacheStatus(fields)
    let reasons = CacheOutcome.ForwardReason.allCases
    let outcome = CacheOutcome(
        isHit: numbers[0] & 1 != 0,
        forward: numbers[0] & 2 != 0 ? reasons[Int(numbers[0] >> 3 & 0xFF) % reasons.count] : nil,
        forwardStatus: numbers[0] & 4 != 0 ? 304 : nil,
        timeToLive: numbers.values.count > 1 ? numbers[1] : nil,
        isStored: numbers[0] & 8 != 0,
        isCollapsed: numbers[0] & 16 != 0,
        detail: numbers[0] & 32 != 0 ? .offline : nil
    )
    let appended = CacheStatus(outcome.appended(to: fields, cache: name))
    require(appended.members.dropLast() == earlier.members[...], "earlier members changed")
    guard let own = appended.members.last else { return require(false, "the outcome cannot be read") }
    require(own.isHit == outcome.isHit, "hit is lost")
    require(own.forward == (outcome.isHit ? nil : outcome.forward?.rawValue), "fwd is lost")
    require(own.isStored == (!outcome.isHit && outcome.isStored), "stored is lost")
    require(own.detail == outcome.detail?.description, "detail is lost")
    if let timeToLive = outcome.timeToLive, abs(timeToLive.clampedToNegate) <= 999_999_999_999_999 {
        require(own.timeToLive == timeToLive, "ttl is lost")
    }
}

extension Int64 {
    /// The value; the smallest is raised by one so that it can be negated.
    fileprivate var clampedToNegate: Int64 { Swift.max(self, -Int64.max) }
}

/// Lines of `Cache-Groups`, and of `Cache-Group-Invalidation` for an unsafe method.
func cacheGroups(_ bytes: UnsafeBufferPointer<UInt8>) {
    var input = FuzzInput(bytes)
    let fields = input.lines(of: HTTPField.Name(token: "Cache-Groups"))
    let policy = CachePolicy(kind: .shared)
    let groups = policy.groups(of: fields)
    require(groups.count <= CachePolicy.maximumGroups, "too many groups")
    require(Set(groups).count == groups.count, "a group twice")
    require(groups.allSatisfy { $0.utf8.count <= CachePolicy.maximumGroupLength }, "a name too long")
    var invalidation = HTTPFields()
    for field in fields {
        var field = field
        field.name = HTTPField.Name(token: "Cache-Group-Invalidation")
        invalidation.append(field)
    }
    let response = HTTPResponse(status: .ok, headerFields: invalidation)
    let post = HTTPRequest(method: .post, scheme: "https", authority: "a.example", path: "/")
    let get = HTTPRequest(method: .get, scheme: "https", authority: "a.example", path: "/")
    require(policy.invalidatedGroups(by: response, to: post) == groups, "the two fields are read differently")
    require(policy.invalidatedGroups(by: response, to: get).isEmpty, "a safe method invalidates")
}
