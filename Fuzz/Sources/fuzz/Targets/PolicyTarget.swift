import HTTPTypes

@testable import HTTPCacheSemantics

/// The whole policy on arbitrary messages and times; see ``PolicyCase`` for the format.
func policy(_ bytes: UnsafeBufferPointer<UInt8>) {
    let given = PolicyCase(bytes)
    requireSoundStoring(given)
    requireSoundReuse(given)
    requireSoundValidation(given)
}

private func requireSoundStoring(_ given: PolicyCase) {
    let policy = given.policy
    for (hasCredentials, isKeyed) in [(false, false), (true, false), (false, true)] {
        let storability = policy.storability(
            of: given.response,
            to: given.request,
            hasCredentials: hasCredentials,
            methodIsKeyed: isKeyed
        )
        let directives = policy.directives(of: given.response.headerFields)
        switch storability {
        case .forbidden: continue
        case .principal: require(policy.kind == .private, "a principal's copy in a shared cache")
        case .common:
            if policy.kind == .shared && hasCredentials {
                require(directives.allowsSharing || directives.mustRevalidate, "one user's response for all")
            }
        }
        require(directives.mustUnderstand || !directives.noStore, "no-store is stored")
        require(isKeyed || given.request.method == .get, "an unkeyed method is stored")
        require((200..<600).contains(given.response.status.code), "an odd status is stored")
        require(!StatusRules.needsExplicitFreshness(given.response.status.code), "a provoked error is stored")
    }
    _ = policy.partialStorability(of: given.response, to: given.request, hasCredentials: false)
    _ = policy.groups(of: given.response.headerFields)
}

private func requireSoundReuse(_ given: PolicyCase) {
    let policy = given.policy
    let stored = given.stored
    let reuse = policy.reuse(of: stored, for: given.request, at: given.now)
    requireSoundVerdict(reuse, stored)
    let freshness = policy.freshness(of: stored, at: given.now)
    require(freshness == reuse.freshness, "two freshnesses")
    require(freshness.lifetime == policy.freshnessLifetime(of: stored), "two lifetimes")
    require(freshness.age == policy.currentAge(of: stored, at: given.now), "two ages")
    _ = policy.staleUse(of: stored)

    // The store's index agrees with the decision, unless a number saturates.
    let until = policy.freshUntil(stored)
    if freshness.isFresh { require(given.now < until, "fresh, and indexed as stale") }
    let bound = Int64(1) << 60
    let numbers = [given.now, stored.responseTime, stored.requestTime, stored.explicitExpiry ?? stored.responseTime]
    if !freshness.isFresh, given.now >= stored.responseTime, numbers.allSatisfy({ abs($0.seconds) < bound / 1000 }) {
        require(given.now >= until, "stale, and indexed as fresh")
    }
    let later = policy.freshness(of: stored, at: given.now.adding(milliseconds: 1_000_000))
    require(!later.isFresh || freshness.isFresh || given.now < stored.responseTime, "time makes it fresh again")

    let vary = FieldNameList(.vary, in: stored.fields)
    let matches = policy.matchesVariant(stored, given.request)
    let sameVary = FieldNameList(.vary, in: given.response.headerFields)
    if sameVary.names == vary.names {
        require(matches == !(vary.hasWildcard || vary.hasMalformedMember), "a response is not its request's variant")
    }
    let index = policy.selectVariant(from: [stored, stored], for: given.request, at: given.now)
    require((index != nil) == matches, "selection and matching disagree")

    let served = policy.servedFields(of: stored, age: freshness.age)
    let ages = served.bytes(of: .age)
    // Larger numbers are clamped. RFC 9111 §1.2.2
    let age = min(freshness.age.milliseconds / 1000, 2_147_483_648)
    require(ages == [Array("\(age)".utf8)], "Age is wrong or repeated")
    require(served.contains(.date) || stored.fields.contains(.date), "no Date")
}

private func requireSoundValidation(_ given: PolicyCase) {
    let policy = given.policy
    let stored = given.stored
    if let validation = policy.validationRequest(for: stored, request: given.request) {
        let fields = validation.headerFields
        require(!fields.contains(.range) && !fields.contains(.ifRange), "a range is validated")
        require(fields.contains(.ifNoneMatch) || fields.contains(.ifModifiedSince), "there is no condition")
    }
    _ = policy.isNotModified(stored, for: given.request)
    _ = policy.isConditional(given.request)
    _ = policy.confirmsCallersCopy(given.other, to: given.request)
    _ = policy.invalidatedGroups(by: given.other, to: given.request)

    var notModified = given.other
    notModified.status = .notModified
    let freshened = policy.freshened(
        stored,
        by: notModified,
        requestTime: given.requestTime,
        responseTime: given.now,
        request: given.request
    )
    var head = given.other
    head.status = .ok
    var headRequest = given.request
    headRequest.method = .head
    let update = policy.headUpdate(
        of: stored,
        bodyLength: given.bodyLength,
        by: head,
        to: headRequest,
        requestTime: given.requestTime,
        responseTime: given.now
    )
    var results = [freshened]
    if case .freshen(let updated) = update {
        require(
            head.headerFields.contains(.eTag) || head.headerFields.contains(.lastModified),
            "a HEAD without validators freshens"
        )
        results.append(updated)
    }
    for case let result? in results {
        require(!result.isInvalidated && result.responseTime == given.now, "freshening leaves it as it was")
        require(result.status == stored.status, "freshening changes the status")
        for name in [HTTPField.Name.contentEncoding, .contentLength, .contentRange] {
            require(
                result.fields.bytes(of: name) == stored.fields.bytes(of: name),
                "freshening changes fields that describe the bytes"
            )
        }
        requireSoundVerdict(policy.reuse(of: result, for: given.request, at: given.now), result)
    }
}

extension HTTPField.Name {
    fileprivate static let acceptCharset = HTTPField.Name(token: "Accept-Charset")
}

extension Timestamp {
    fileprivate var seconds: Int64 { milliseconds / 1000 }
}
