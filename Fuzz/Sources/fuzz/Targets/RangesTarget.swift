import HTTPTypes

@testable import HTTPCacheSemantics

/// Ranges that are served from a stored body, and combined parts; see ``PolicyCase`` for the
/// format.
func ranges(_ bytes: UnsafeBufferPointer<UInt8>) {
    let given = PolicyCase(bytes)
    for maximum in [CachePolicy.maximumParts, 1, 0] { requireSoundSelection(given, maximumParts: maximum) }
    requireSoundCombining(given)
    let policy = given.policy
    if let request = policy.completionRequest(
        for: given.stored,
        bodyLength: given.bodyLength,
        request: given.request
    ) {
        require(request.headerFields.bytes(of: .range) == [Array("bytes=\(given.bodyLength)-".utf8)], "a wrong range")
        require(request.headerFields.contains(.ifRange), "parts of two representations may meet")
    }
    if let part = policy.incomplete(given.stored, receivedLength: given.bodyLength) {
        require(
            part.partialRange?.range == 0..<StatedLength(clamping: given.bodyLength),
            "the truncated response is another part"
        )
        let rest = policy.completionRequest(
            for: part,
            bodyLength: given.bodyLength,
            request: HTTPRequest(method: .get, scheme: "https", authority: "a.example", path: "/")
        )
        require(rest != nil || given.bodyLength == .max, "the rest cannot be requested")
    }
    let storability = policy.partialStorability(of: given.other, to: given.request, hasCredentials: false)
    if storability == .common || storability == .principal {
        require(ContentRange(given.other.headerFields) != nil, "a part without its range is stored")
    }
    _ = ContentRange.unsatisfiedLength(given.other.headerFields)
}

/// Every served range lies in the stored part, and the response has the stated length.
private func requireSoundSelection(_ given: PolicyCase, maximumParts: Int) {
    let policy = given.policy
    let stored = given.stored
    let selection = policy.selection(
        of: stored,
        bodyLength: given.bodyLength,
        for: given.request,
        maximumParts: maximumParts
    )
    let part = stored.partialRange
    let held = part?.range ?? 0..<StatedLength(clamping: given.bodyLength)
    let complete = part.map(\.completeLength) ?? StatedLength(clamping: given.bodyLength)
    let served = policy.servedFields(of: stored, age: policy.currentAge(of: stored, at: given.now))
    let head = policy.head(
        for: selection,
        of: stored,
        servedFields: served,
        bodyLength: given.bodyLength,
        boundary: given.request.path ?? ""
    )
    let plan = policy.multipartPlan(for: selection, of: stored, boundary: given.request.path ?? "")
    switch selection {
    case .complete:
        if stored.status.code == 206 { require(held.lowerBound == 0 && held.upperBound == complete, "not complete") }
        require(head.status.code != 206, "a whole with the status of a part")
    case .range(let range, let length):
        require(!range.isEmpty && held.contains(range), "a range outside the stored part")
        require(length == complete && head.status.code == 206, "a part of something else")
        require(ContentRange(head.headerFields)?.range == range, "Content-Range cannot be read back")
        require(head.headerFields[.contentLength] == "\(range.length)", "a wrong length")
    case .ranges(let ranges, let length):
        require(ranges.count > 1 && ranges.count <= maximumParts, "too many or too few parts")
        require(ranges.allSatisfy { !$0.isEmpty && held.contains($0) }, "a range outside the stored part")
        require(length == complete && head.status.code == 206, "parts of something else")
        require(ranges.totalLength <= length, "more bytes than there are")
        requireSound(plan, ranges, bodyLength: given.bodyLength)
        require(head.headerFields[.contentLength] == plan.map { "\($0.length)" }, "a wrong length")
    case .unsatisfiable(let length):
        require(length == complete && head.status.code == 416, "a wrong 416")
        require(ContentRange.unsatisfiedLength(head.headerFields) == length, "the 416 cannot be read back")
    case .missing(let missing):
        require(stored.status.code == 206, "a complete response misses something")
        if let range = missing.range { require(!range.isEmpty && !held.contains(range), "the missing part is stored") }
    }
}

private func requireSound(_ plan: MultipartPlan?, _ ranges: [Range<StatedLength>], bodyLength: Int64) {
    guard let plan else { return require(false, "no plan for parts") }
    var length: StatedLength = 0
    var parts: [StatedLength] = []
    for piece in plan.pieces {
        switch piece {
        case .literal(let bytes): length = length.adding(StatedLength(clamping: bytes.count)) ?? .maximum
        case .body(let slice):
            require(slice.upperBound.isWithin(bodyLength), "a slice outside the body")
            parts.append(slice.length)
            length = length.adding(slice.length) ?? .maximum
        }
    }
    require(parts == ranges.map(\.length), "other parts than were selected")
    require(length == plan.length, "the plan's length is wrong")
}

/// A combined response contains every byte of both parts once, in order.
private func requireSoundCombining(_ given: PolicyCase) {
    let combined = given.policy.combined(
        given.stored,
        bodyLength: given.bodyLength,
        with: given.other,
        requestTime: given.requestTime,
        responseTime: given.now,
        request: given.request
    )
    guard let combined else { return }
    guard let new = ContentRange(given.other.headerFields)?.range else { return require(false, "no part") }
    let old = given.stored.partialRange?.range ?? 0..<StatedLength(clamping: given.bodyLength)
    var position = min(old.lowerBound, new.lowerBound)
    for piece in combined.pieces {
        let (range, offset, length) =
            switch piece {
            case .stored(let range): (range, old.lowerBound, old.length)
            case .received(let range): (range, new.lowerBound, new.length)
            }
        require(range.upperBound <= length, "a piece outside its body")
        require(offset.adding(range.lowerBound) == position, "a gap, or bytes twice")
        position = offset.adding(range.upperBound) ?? .maximum
    }
    require(position == max(old.upperBound, new.upperBound), "bytes are missing")
    if let part = combined.head.partialRange {
        require(part.range.length == combined.length, "the head states another length")
    } else {
        require(combined.head.status.code == 200, "neither the whole nor a part")
    }
}

extension Range<StatedLength> {
    /// Whether the other range lies in this one.
    fileprivate func contains(_ other: Range) -> Bool {
        lowerBound <= other.lowerBound && other.upperBound <= upperBound
    }
}
