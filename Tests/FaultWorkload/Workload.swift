/// A sequence of operations that follows from a seed, so that the process that runs it and the one
/// that checks it both know it.
package enum Workload {
    /// - Parameter isAlone: whether no other lane runs, so that operations on the whole store are
    ///   included.
    package static func operations(seed: UInt64, lane: Int, count: Int, isAlone: Bool) -> [Operation] {
        var random = SeededRandom(seed: seed &* 0x1_0001 &+ UInt64(lane))
        return (0..<count).map { operation(number: $0, lane: lane, isAlone: isAlone, &random) }
    }

    private static func operation(number: Int, lane: Int, isAlone: Bool, _ random: inout SeededRandom) -> Operation {
        let response = Place(lane: lane, kind: .response, index: .random(in: 0..<Place.responseCount, using: &random))
        let object = Place(lane: lane, kind: .object, index: .random(in: 0..<Place.objectCount, using: &random))
        let content = Content(seed: random.next(), length: length(&random))
        let tags = Set((0..<3).filter { _ in Bool.random(using: &random) })
        let isKept = Bool.random(using: &random)
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<16: return .setObject(object, Content(seed: content.seed, length: min(content.length, 70_000)))
        case 16..<21: return .removeObject(object)
        case 21..<36: return .setResponse(response, content, tags: tags)
        case 36..<56:
            return .fill(
                response,
                content,
                tags: tags,
                piece: [1000, 16_384, 70_000].randomElement(using: &random) ?? 1
            )
        case 56..<60: return .abandon(response, content)
        case 60..<66: return .freshen(response, number + 1)
        case 66..<71: return .invalidateKey(response, isKept: isKept)
        case 71..<75: return .invalidateTarget(response, isKept: isKept)
        case 75..<79: return .invalidateTag(lane: lane, .random(in: 0..<3, using: &random), isKept: isKept)
        case 79..<81 where isAlone: return .invalidateAll(isKept: isKept)
        case 81..<82 where isAlone: return .removeAll
        case 82..<84: return .settle
        case 84..<88: return .read(object)
        default: return .read(response)
        }
    }

    /// Returns a length from zero to several chunks, and rarely several transactions.
    private static func length(_ random: inout SeededRandom) -> Int {
        switch Int.random(in: 0..<40, using: &random) {
        case 0..<3: 0
        case 3..<16: .random(in: 1..<3000, using: &random)
        case 16..<30: .random(in: 3000..<40_000, using: &random)
        case 30..<32: 65_536
        case 32..<34: 65_537
        case 34..<39: .random(in: 70_000..<300_000, using: &random)
        default: .random(in: 4 << 20..<6 << 20, using: &random)
        }
    }

    /// Returns every kind of operation once, with little content, for a fault at each file
    /// operation.
    package static func tour(seed: UInt64) -> [Operation] {
        let responses = (0..<4).map { Place(lane: 0, kind: .response, index: $0) }
        let object = Place(lane: 0, kind: .object, index: 0)
        func content(_ number: UInt64, _ length: Int) -> Content {
            Content(seed: seed &* 100 &+ number, length: length)
        }
        return [
            .setObject(object, content(1, 900)),
            .setResponse(responses[0], content(2, 2000), tags: [1]),
            .fill(responses[1], content(3, 150_000), tags: [1, 2], piece: 40_000),
            .read(responses[1]),
            .abandon(responses[2], content(4, 90_000)),
            .freshen(responses[0], 1),
            .invalidateKey(responses[0], isKept: true),
            .setResponse(responses[0], content(5, 0), tags: []),
            .fill(responses[2], content(6, 10_000), tags: [2], piece: 10_000),
            .invalidateTag(lane: 0, 2, isKept: true),
            .settle,
            .read(object),
            .removeObject(object),
            .invalidateTarget(responses[2], isKept: false),
            .read(responses[2]),
            .setObject(object, content(7, 70_000)),
            .fill(responses[3], content(8, 70_000), tags: [0], piece: 70_000),
            .invalidateTag(lane: 0, 0, isKept: false),
            .invalidateAll(isKept: true),
            .settle,
            .read(responses[1]),
            .read(object),
        ]
    }
}
