import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Testing

/// The bytes of a representation; neighbors differ.
private func model(_ length: Int) -> [UInt8] { (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 / 256) } }

/// Ranges of random representations.
@Suite(.timeLimit(.minutes(20)), .tags(.rfc9110Ranges, .rfc9111Combining))
struct RangePropertyTests {
    private let policy = CachePolicy.private

    /// A member of a `Range` field, by the plainest reading of RFC 9110 §14.1.2: byte by byte.
    private struct RandomRange {
        var text: String
        var contains: (_ offset: Int, _ length: Int) -> Bool

        init(_ generator: inout SeededRandom, length: Int) {
            let first = Int.random(in: 0...(length + 5), using: &generator)
            let more = Int.random(in: 0...(length + 5), using: &generator)
            switch Int.random(in: 0..<3, using: &generator) {
            case 0:
                text = "\(first)-\(first + more)"
                contains = { offset, _ in offset >= first && offset <= first + more }
            case 1:
                text = "\(first)-"
                contains = { offset, _ in offset >= first }
            default:
                text = "-\(more)"
                contains = { offset, length in offset >= length - more }
            }
        }
    }

    /// The bytes of a selection; for several parts, those that a client would read from the
    /// multipart body.
    private func bytes(
        _ selection: StoredSelection,
        of stored: StoredResponseHead,
        _ body: [UInt8]
    ) throws -> [(offset: Int, bytes: [UInt8])]? {
        let start = (stored.partialRange?.range.lowerBound ?? 0).number
        switch selection {
        case .complete: return [(start, body)]
        case .range(let range, _):
            return [
                (
                    range.lowerBound.number,
                    Array(body[(range.lowerBound.number - start)..<(range.upperBound.number - start)])
                )
            ]
        case .ranges(let ranges, _):
            let plan = try #require(policy.multipartPlan(for: selection, of: stored, boundary: "b"))
            let assembled = plan.assembled(from: body)
            #expect(assembled.count == plan.length.number)
            var bodies = plan.pieces.compactMap { piece -> [UInt8]? in
                if case .body(let range) = piece {
                    return Array(body[range.numbers])
                }
                return nil
            }
            #expect(bodies.count == ranges.count)
            return ranges.map { ($0.lowerBound.number, bodies.removeFirst()) }
        case .unsatisfiable: return []
        case .missing: return nil
        }
    }

    @Test(arguments: [1, 2, 3, 4])
    func servesExactlyTheRequestedBytes(seed: UInt64) throws {
        var generator = SeededRandom(seed: seed)
        for round in 0..<2000 {
            let length = Int.random(in: 1...60, using: &generator)
            let whole = model(length)
            let lower = Int.random(in: 0..<length, using: &generator)
            let upper = Int.random(in: (lower + 1)...length, using: &generator)
            let isComplete = Bool.random(using: &generator)
            let isLengthKnown = Bool.random(using: &generator)
            let head =
                isComplete
                ? storedWhole() : storedPart("bytes \(lower)-\(upper - 1)/\(isLengthKnown ? "\(length)" : "*")")
            let body = isComplete ? whole : Array(whole[lower..<upper])
            let ranges = (0..<Int.random(in: 1...5, using: &generator)).map { _ in
                RandomRange(&generator, length: length)
            }
            let value = "bytes=" + ranges.map(\.text).joined(separator: ", ")
            let requested = (0..<length).filter { offset in ranges.contains { $0.contains(offset, length) } }
            let note = "seed \(seed), round \(round): \(value) of \(length), stored \(lower)..<\(upper)"

            let selection = policy.selection(of: head, bodyLength: Int64(body.count), for: rangeRequest(value))
            guard let parts = try bytes(selection, of: head, body) else {
                // A part is missing only if a requested byte is, or if the length is unknown.
                #expect(!isComplete, "\(note)")
                let isHeld = requested.allSatisfy { (lower..<upper).contains($0) }
                #expect(!isHeld || !isLengthKnown, "\(note)")
                if isLengthKnown, let missing = selection.missing?.range {
                    for offset in requested where !(lower..<upper).contains(offset) {
                        #expect(missing.contains(StatedLength(clamping: offset)), "\(note)")
                    }
                }
                continue
            }
            var served: Set<Int> = []
            for part in parts {
                #expect(!part.bytes.isEmpty, "\(note)")
                #expect(Array(whole[part.offset..<(part.offset + part.bytes.count)]) == part.bytes, "\(note)")
                served.formUnion(part.offset..<(part.offset + part.bytes.count))
            }
            #expect(served.sorted() == requested, "\(note)")
            #expect(parts.reduce(0) { $0 + $1.bytes.count } <= length, "\(note)")
        }
    }

    @Test(arguments: [11, 12, 13, 14])
    func combinedPartsMatchTheModel(seed: UInt64) throws {
        var generator = SeededRandom(seed: seed)
        var completed = 0
        for round in 0..<300 {
            let length = Int.random(in: 1...80, using: &generator)
            let whole = model(length)
            var head: StoredResponseHead?
            var body: [UInt8] = []
            for _ in 0..<12 {
                let lower = Int.random(in: 0..<length, using: &generator)
                let upper = Int.random(in: (lower + 1)...length, using: &generator)
                let known = Bool.random(using: &generator) ? "\(length)" : "*"
                let contentRange = "bytes \(lower)-\(upper - 1)/\(known)"
                let received = Array(whole[lower..<upper])
                guard let old = head else {
                    head = storedPart(contentRange)
                    body = received
                    continue
                }
                let result = policy.combined(
                    old,
                    bodyLength: Int64(body.count),
                    with: response([("ETag", "\"v1\""), ("Content-Range", contentRange)], status: 206),
                    requestTime: noon,
                    responseTime: noon,
                    request: request()
                )
                let note = "seed \(seed), round \(round): \(contentRange) onto \(body.count) bytes"
                guard let result else {
                    let held = try #require(old.partialRange, "\(note)").range
                    #expect(lower > held.upperBound.number || upper < held.lowerBound.number, "\(note)")
                    continue
                }
                let union = result.pieces.flatMap { piece -> ArraySlice<UInt8> in
                    switch piece {
                    case .stored(let range): body[range.numbers]
                    case .received(let range): received[range.numbers]
                    }
                }
                #expect(union.count == result.length.number, "\(note)")
                #expect(result.head.fields[values: .contentLength] == ["\(union.count)"], "\(note)")
                if result.head.status == .ok {
                    #expect(union == whole, "\(note)")
                    completed += 1
                } else {
                    let held = try #require(result.head.partialRange, "\(note)").range
                    #expect(union == Array(whole[held.numbers]), "\(note)")
                }
                head = result.head
                body = union
            }
        }
        // Some walks complete the representation.
        #expect(completed > 50)
    }

    @Test(arguments: [21, 22])
    func fieldsNeverTrap(seed: UInt64) {
        var generator = SeededRandom(seed: seed)
        let pieces = [
            "bytes", "=", " ", "-", ",", "/", "*", "0", "1", "9", "99", "9223372036854775807", "9223372036854775808",
            "18446744073709551616", "\"v1\"", "W/", "a", ";", "\t", noonDate, "é",
        ]
        func text() -> String {
            (0..<Int.random(in: 0...12, using: &generator)).map { _ in
                pieces[Int.random(in: 0..<pieces.count, using: &generator)]
            }.joined()
        }
        let lengths: [Int64] = [.min, -1, 0, 1, 10, .max - 1, .max]
        for _ in 0..<2000 {
            let contentRange = Bool.random(using: &generator) ? "bytes \(text())" : text()
            let range = Bool.random(using: &generator) ? "bytes=\(text())" : text()
            let asking = rangeRequest(range, Bool.random(using: &generator) ? [("If-Range", text())] : [])
            let length = lengths[Int.random(in: 0..<lengths.count, using: &generator)]
            let part = storedPart(contentRange, [("ETag", text()), ("Content-Length", text()), ("Date", noonDate)])
            for head in [part, storedWhole()] {
                let selection = policy.selection(of: head, bodyLength: length, for: asking)
                _ = policy.head(
                    for: selection,
                    of: head,
                    servedFields: head.fields,
                    bodyLength: length,
                    boundary: range
                )
                _ = policy.completionRequest(for: head, bodyLength: length, request: asking)
                _ = policy.incomplete(head, receivedLength: length)
                let partial = response([("ETag", "\"v1\""), ("Content-Range", contentRange)], status: 206)
                _ = policy.partialStorability(of: partial, to: asking, hasCredentials: false)
                _ = policy.combined(
                    head,
                    bodyLength: length,
                    with: partial,
                    requestTime: noon,
                    responseTime: noon,
                    request: asking
                )
            }
        }
    }
}
