import HTTPTypes

@testable import HTTPCacheSemantics

private let noon = Timestamp(seconds: 1_772_366_400)

/// Lines of `Cache-Control`: their order does not matter, and a further line never permits more.
func cacheControl(_ bytes: UnsafeBufferPointer<UInt8>) {
    var input = FuzzInput(bytes)
    let fields = input.lines(of: .cacheControl)
    let response = ResponseDirectives(fields, targeted: [])
    var reversed = ResponseDirectives(HTTPFields(fields.reversed()), targeted: [])
    require(response.noCache.names == reversed.noCache.names, "the order of lines changes no-cache")
    require(response.isPrivate.names == reversed.isPrivate.names, "the order of lines changes private")
    reversed.noCache = response.noCache
    reversed.isPrivate = response.isPrivate
    require(response == reversed, "the order of lines changes the directives")
    for number in [response.maxAge, response.sMaxage, response.staleIfError, response.staleWhileRevalidate] {
        if let number { require((0...2_147_483_648).contains(number.seconds), "seconds out of their range") }
    }

    let requested = RequestDirectives(fields)
    require(requested == RequestDirectives(HTTPFields(fields.reversed())), "the order of lines changes a request")

    // A further line is always read, and only makes things stricter.
    var stricter = fields
    stricter.append(HTTPField(name: .cacheControl, value: "no-store, no-cache, private, max-age=0"))
    let strict = ResponseDirectives(stricter, targeted: [])
    require(strict.noStore && strict.noCache == .whole && strict.isPrivate == .whole, "a line is lost")
    require(strict.maxAge == .zero, "a larger max-age wins")
    require(RequestDirectives(stricter).noStore && RequestDirectives(stricter).noCache, "a line is lost")

    let policy = CachePolicy(kind: .shared)
    let head = StoredResponseHead(status: .ok, fields: fields, requestTime: noon, responseTime: noon)
    let request = HTTPRequest(method: .get, scheme: "https", authority: "a.example", path: "/", headerFields: fields)
    requireSoundVerdict(policy.reuse(of: head, for: request, at: noon), head)
    _ = policy.isImmutable(head)
    _ = policy.isOnlyIfCached(request)
}

extension ResponseDirectives.Scope {
    /// The names, so that scopes compare as sets; `nil` for the whole response.
    fileprivate var names: Set<String>? {
        switch self {
        case .absent: []
        case .fields(let names): Set(names)
        case .whole: nil
        }
    }
}

/// A first line of `Cache-Control`, then lines of `CDN-Cache-Control`.
func targetedFields(_ bytes: UnsafeBufferPointer<UInt8>) {
    var input = FuzzInput(bytes)
    let general = HTTPField(name: .cacheControl, value: input.line())
    let name = HTTPField.Name(token: "CDN-Cache-Control")
    var fields = input.lines(of: name)
    let targeted = ResponseDirectives(targeted: ["cdn-cache-control"], in: fields)
    fields.append(general)
    let alone = ResponseDirectives(HTTPFields([general]), targeted: [])
    let shared = CachePolicy(kind: .shared)
    let directives = shared.directives(of: fields)
    require(directives == targeted ?? alone, "neither the targeted field nor Cache-Control decides")
    require(CachePolicy(kind: .private).directives(of: fields) == alone, "a private cache obeys a targeted field")
    for number in [
        directives.maxAge, directives.sMaxage, directives.staleIfError, directives.staleWhileRevalidate,
    ] {
        if let number { require((0...2_147_483_648).contains(number.seconds), "seconds out of their range") }
    }
    let head = StoredResponseHead(status: .ok, fields: fields, requestTime: noon, responseTime: noon)
    require(shared.read(head).directives == directives, "the two ways to read directives differ")
    let request = HTTPRequest(method: .get, scheme: "https", authority: "a.example", path: "/")
    requireSoundVerdict(shared.reuse(of: head, for: request, at: noon), head)
}

/// A line of numbers (the reference, an instant), then a date.
func httpDate(_ bytes: UnsafeBufferPointer<UInt8>) {
    var input = FuzzInput(bytes)
    let numbers = input.numbers()
    let text = HTTPDate.format(Timestamp(milliseconds: numbers[1]))
    require(text.utf8.count == 29, "a date of \(text.utf8.count) bytes")
    let reference = Timestamp(milliseconds: numbers[0])
    guard let parsed = HTTPDate.parse(text, reference: reference) else {
        return require(false, "'\(text)' is not a date")
    }
    if (0..<253_402_300_800_000).contains(numbers[1]) {
        require(parsed.milliseconds == numbers[1] / 1000 * 1000, "'\(text)' is another instant")
    }
    let date = input.remaining()
    guard let instant = date.withUnsafeBufferPointer({ HTTPDate.parse($0, reference: reference) }) else { return }
    require(instant.milliseconds % 1000 == 0, "a fraction of a second")
    let again = HTTPDate.parse(HTTPDate.format(instant), reference: reference)
    require(again == instant, "an instant changes when it is written")
}

/// A first line `ETag`, then lines of `If-None-Match`.
func entityTags(_ bytes: UnsafeBufferPointer<UInt8>) {
    var input = FuzzInput(bytes)
    let tag = EntityTag(HTTPFields([HTTPField(name: .eTag, value: input.line())]))
    let conditions = input.lines(of: .ifNoneMatch)
    let list = EntityTag.list(ifNoneMatch: conditions)
    for member in list {
        require(EntityTag.matches(member, ifNoneMatch: conditions), "a member of the list does not match")
        let again = EntityTag(HTTPFields([HTTPField(name: .eTag, value: member.bytes)]))
        require(again == member, "a tag changes when it is written")
    }
    let hasAny = EntityTag.matches(nil, ifNoneMatch: conditions)
    if let tag {
        let isNamed = list.contains { $0.weaklyEquals(tag) }
        require(
            EntityTag.matches(tag, ifNoneMatch: conditions) == (isNamed || hasAny),
            "the list and the comparison disagree"
        )
        require(tag.weaklyEquals(tag) && tag.stronglyEquals(tag) == !tag.isWeak, "a tag differs from itself")
    }
    let head = StoredResponseHead(
        status: .ok,
        fields: tag.map { HTTPFields([HTTPField(name: .eTag, value: $0.bytes)]) } ?? [:],
        requestTime: noon,
        responseTime: noon
    )
    let request = HTTPRequest(
        method: .get,
        scheme: "https",
        authority: "a.example",
        path: "/",
        headerFields: conditions
    )
    let policy = CachePolicy(kind: .shared)
    if let validation = policy.validationRequest(for: head, request: request), let tag {
        let sent = EntityTag.list(ifNoneMatch: validation.headerFields)
        require(sent.first == tag, "the stored tag does not come first")
        require(sent.dropFirst() == list.filter { !$0.weaklyEquals(tag) }[...], "the caller's tags changed")
    }
    _ = policy.isNotModified(head, for: request)
    _ = policy.confirmsCallersCopy(HTTPResponse(status: .notModified, headerFields: head.fields), to: request)
}

/// Fields in which `Vary`, `Connection`, `no-cache="…"` and `private="…"` name others.
func fieldNames(_ bytes: UnsafeBufferPointer<UInt8>) {
    var input = FuzzInput(bytes)
    let fields = input.fields()
    for name in [HTTPField.Name.vary, .connection] {
        let list = FieldNameList(name, in: fields)
        if !list.hasMalformedMember {
            require(Set(list.names).count == list.names.count, "a name twice")
            require(list.names.count <= FieldNameList.maximumNames, "too many names")
        }
        for name in list.names {
            require(!name.utf8.contains { !$0.isTokenByte || $0.asciiLowercased != $0 }, "'\(name)' is not a name")
        }
    }
    let response = HTTPResponse(status: .ok, headerFields: fields)
    for policy in [CachePolicy(kind: .private), CachePolicy(kind: .shared)] {
        let stored = policy.storedFields(of: response)
        require(!stored.contains { FieldRules.isHopByHop($0.name.canonicalName) }, "a hop-by-hop field is stored")
        let again = policy.storedFields(of: HTTPResponse(status: .ok, headerFields: stored))
        require(Array(again) == Array(stored), "a stored response loses fields when it is stored again")
        let forwarded = policy.forwardedResponseFields(of: fields)
        require(!forwarded.contains { FieldRules.isHopByHop($0.name.canonicalName) }, "a hop-by-hop field is forwarded")
    }
    let forwarded = CachePolicy.forwardedFields(of: fields)
    require(!forwarded.contains { FieldRules.isHopByHop($0.name.canonicalName) }, "a hop-by-hop field is forwarded")
    require(Array(CachePolicy.forwardedFields(of: forwarded)) == Array(forwarded), "forwarding twice loses fields")
    require(fields.contains(.authorization) == forwarded.contains(.authorization), "credentials vanish")
}

/// `Age`: one line.
func age(_ bytes: UnsafeBufferPointer<UInt8>) {
    if let age = AgeField.value(bytes) {
        require((0...2_147_483_648).contains(age.seconds), "an age out of its range")
    }
    let digits = bytes.allSatisfy(\.isDigit) && !bytes.isEmpty
    if digits { require(AgeField.value(bytes) != nil, "digits are not an age") }
    var input = FuzzInput(bytes)
    let fields = input.lines(of: .age)
    let head = StoredResponseHead(status: .ok, fields: fields, requestTime: noon, responseTime: noon)
    let age = CachePolicy(kind: .shared).currentAge(of: head, at: noon)
    require((0...2_147_483_648_000).contains(age.milliseconds), "an age out of its range")
}
