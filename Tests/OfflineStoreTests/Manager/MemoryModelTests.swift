import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore
import OfflineStore
import Synchronization
import TestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Many tasks use one store, and compare it with what they know of each other's finished work.
@Suite(.timeLimit(.minutes(20))) struct MemoryModelTests {
    /// No reader sees a value older than one that was seen or acknowledged before, nor a removed
    /// one, nor an invalidated one as valid.
    @Test(arguments: Model.seeds, [false, true])
    func readersNeverSeeValuesOlderThanKnown(seed: UInt64, isLossy: Bool) async throws {
        let model = try Model(seed: seed, isLossy: isLossy)
        try await model.run(rounds: 3)
        let findings = model.findings
        #expect(findings.isEmpty, "seed \(seed): \(findings.prefix(5).joined(separator: "\n"))")
        #expect(model.seenCount > 0)
    }
}

/// A store, the known facts about it, and the findings.
///
/// A slot holds ever larger numbers, which one task writes and all tasks read. So the possible
/// values are known without an order of all operations: no number smaller than the largest that was
/// seen or acknowledged before the read began.
private final class Model: Sendable {
    /// A few in every run; `HOLDFAST_MODEL_SEEDS=100-200` selects others.
    static var seeds: [UInt64] {
        guard let text = getenv("HOLDFAST_MODEL_SEEDS").map({ String(cString: $0) }) else { return [1, 2] }
        let ends = text.split(separator: "-").compactMap { UInt64($0) }
        guard let first = ends.first, let last = ends.last, first <= last else { return [] }
        return Array(first...last)
    }

    enum Kind {
        case object
        /// A response stored as the engine does, under a fencing number.
        case fenced
        /// A response stored by an explicit call.
        case byHand
    }

    final class Slot: Sendable {
        struct Known {
            /// The last number that was handed out.
            var issued = 0
            /// The lowest number that may be seen: all lower ones were replaced or removed.
            var least = 1
            /// The largest number seen, perhaps before it was stored.
            var seen = 0
            /// The number that must be found if nothing was removed.
            var acknowledged = 0
            /// The last number that must not be seen as valid.
            var invalidated = 0
            /// Changes when a number that may have been seen was not stored.
            var epoch = 0
            /// The finding if the number that is being written is stored.
            var suspicions: [String] = []
        }

        let kind: Kind
        let name: String
        let variant: String
        let tag: String
        let known = Mutex(Known())

        init(_ kind: Kind, _ name: String, _ variant: String, tag: String) {
            self.kind = kind
            self.name = name
            self.variant = variant
            self.tag = tag
        }

        var key: StoreKey { get throws { try cacheKey("/\(name)") } }

        func notStored() {
            known.withLock { known in
                known.epoch += 1
                known.seen = 0
                known.suspicions = []
            }
        }

        /// - Parameter isThere: whether nothing was removed meanwhile.
        /// - Returns: the findings.
        func stored(_ number: Int, isThere: Bool) -> [String] {
            known.withLock { known in
                known.acknowledged = isThere ? number : 0
                known.least = max(known.least, number)
                defer { known.suspicions = [] }
                return known.suspicions
            }
        }

        /// Records what a reader saw.
        ///
        /// - Returns: the finding, if it is wrong.
        func see(_ number: Int, _ before: Known) -> String? {
            known.withLock { known in
                let wrong = "\(name) \(variant): \(number) after \(max(before.least, before.seen))"
                if number < before.least { return wrong }
                guard known.epoch == before.epoch else { return nil }
                known.seen = max(known.seen, number)
                guard number < before.seen else { return nil }
                if known.least >= before.seen { return wrong }
                known.suspicions.append(wrong)
                return nil
            }
        }
    }

    private static let tasks = 4
    private let seed: UInt64
    /// With eviction and databases that are set aside, any entry may be gone.
    private let isLossy: Bool
    private let folder: TemporaryFolder
    private let clock = ManualClock()
    private let slots: [Slot]
    private let state = Mutex<(findings: [String], seen: Int)>(([], 0))
    private let removalsBegun = Atomic(0)
    private let removalsEnded = Atomic(0)

    var findings: [String] { state.withLock { $0.findings } }
    var seenCount: Int { state.withLock { $0.seen } }

    init(seed: UInt64, isLossy: Bool) throws {
        self.seed = seed
        self.isLossy = isLossy
        folder = try TemporaryFolder()
        var slots: [Slot] = []
        for task in 0..<Self.tasks {
            for index in 0..<3 { slots.append(Slot(.object, "o/\(task)/\(index)", "", tag: "")) }
            for index in 0..<2 {
                for variant in ["en", "de"] {
                    slots.append(Slot(.fenced, "f/\(task)/\(index)", variant, tag: "t\(index)"))
                }
                slots.append(Slot(.byHand, "h/\(task)/\(index)", "", tag: "t\(index)"))
            }
        }
        self.slots = slots
    }

    /// The number of removals; `nil` while one is under way.
    private var removalsWhileQuiet: Int? {
        let ended = removalsEnded.load(ordering: .sequentiallyConsistent)
        return removalsBegun.load(ordering: .sequentiallyConsistent) == ended ? ended : nil
    }

    private func isQuiet(since removals: Int?) -> Bool { removals != nil && removalsWhileQuiet == removals }

    private func find(_ text: String) { state.withLock { $0.findings.append(text) } }

    func run(rounds: Int) async throws {
        for round in 0..<rounds {
            let store = try await openStore(folder.store, clock: clock, budget: isLossy ? 4 << 20 : 64 << 20) {
                $0.memoryBudget = [192 << 10, 0, 1 << 20][(round + Int(self.seed)) % 3]
            }
            // The tasks yield; otherwise those on the few threads would end before others begin.
            try await withThrowingTaskGroup(of: Void.self) { group in
                for task in 0..<Self.tasks {
                    let seed = seed &* 1000 &+ UInt64(round * 20 + task)
                    group.addTask {
                        var generator = SeededGenerator(seed: seed)
                        for _ in 0..<60 {
                            try await self.write(task, store, &generator)
                            await Task.yield()
                        }
                    }
                    group.addTask {
                        var generator = SeededGenerator(seed: seed &+ 7)
                        for _ in 0..<250 {
                            try await self.read(store, &generator)
                            await Task.yield()
                        }
                    }
                }
                group.addTask {
                    var generator = SeededGenerator(seed: self.seed &* 1000 &+ UInt64(round * 20 + 19))
                    for _ in 0..<25 {
                        try await self.disturb(store, &generator)
                        await Task.yield()
                    }
                }
                try await group.waitForAll()
            }
            try await store.close()
        }
    }

    // MARK: Writing

    private func write(_ task: Int, _ store: CacheManager, _ generator: inout SeededGenerator) async throws {
        let own = slots.count / Self.tasks
        let slot = slots[task * own + Int.random(in: 0..<own, using: &generator)]
        let padding =
            Int.random(in: 0..<10, using: &generator) == 0 ? 100_000 : Int.random(in: 0...3000, using: &generator)
        if slot.kind == .object, Int.random(in: 0..<6, using: &generator) == 0 {
            return try await remove(covering: { $0 === slot }) { _ = try await store.removeObject(forKey: slot.name) }
        }
        let freshens = slot.kind == .fenced && Int.random(in: 0..<3, using: &generator) == 0
        let removals = removalsWhileQuiet
        // The fencing number is read before the number is handed out: later invalidations come
        // after it.
        let fencingNumber = store.responses.invalidationSequence
        let number = slot.known.withLock { known in
            known.issued += 1
            return known.issued
        }
        do {
            let isStored =
                switch slot.kind {
                case .object:
                    try await setObject(slot, number, padding, store)
                case .byHand:
                    try await setResponse(slot, number, padding, store)
                case .fenced where freshens:
                    try await freshen(slot, number, store, fencingNumber)
                case .fenced:
                    try await fill(slot, number, padding, store, fencingNumber)
                }
            if isStored {
                for wrong in slot.stored(number, isThere: isQuiet(since: removals)) { find(wrong) }
            } else {
                slot.notStored()
            }
        } catch let error as StoreError where error.code != .closed || isLossy {
            slot.notStored()
            if !isLossy { find("\(slot.name): \(error)") }
        }
    }

    private func setObject(_ slot: Slot, _ number: Int, _ padding: Int, _ store: CacheManager) async throws -> Bool {
        try await store.setObject(["\(number)", String(repeating: ".", count: padding)], forKey: slot.name)
        return true
    }

    private func setResponse(_ slot: Slot, _ number: Int, _ padding: Int, _ store: CacheManager) async throws -> Bool {
        let response = RawResponse(
            status: .ok,
            fields: Self.fields(number, body: number),
            body: Self.body(number, padding)
        )
        try await store.setResponse(response, for: slot.key, expiry: .never, tags: [slot.tag])
        return true
    }

    private func fill(
        _ slot: Slot,
        _ number: Int,
        _ padding: Int,
        _ store: CacheManager,
        _ fencingNumber: InvalidationSequence
    ) async throws -> Bool {
        let draft = draft(
            try slot.key,
            at: clock.now(),
            fields: Self.fields(number, body: number),
            selecting: [.acceptLanguage: slot.variant],
            tags: [slot.tag]
        )
        return try await store.store(draft, [Self.body(number, padding)], fencingNumber: fencingNumber) != nil
    }

    private func freshen(_ slot: Slot, _ number: Int, _ store: CacheManager, _ fencingNumber: InvalidationSequence)
        async throws
        -> Bool
    {
        guard let found = try await store.responses.lookup(slot.key).first(where: { Self.variant($0) == slot.variant })
        else { return false }
        var draft = renewed(found, at: clock.now().adding(.seconds(60)), tags: [slot.tag])
        draft.head.fields = Self.fields(number, body: Self.number(found.head.fields[Self.bodyName]))
        draft.head.isInvalidated = false
        return try await store.responses.freshen(found, with: draft, fencingNumber: fencingNumber) != nil
    }

    // MARK: Invalidating

    private func remove(covering covers: (Slot) -> Bool, _ body: () async throws -> Void) async throws {
        let before = slots.filter(covers).map { slot in
            // Explicit stores and objects that are under way may come after this.
            (slot, slot.known.withLock { slot.kind == .fenced ? $0.issued : $0.acknowledged })
        }
        removalsBegun.add(1, ordering: .sequentiallyConsistent)
        defer { removalsEnded.add(1, ordering: .sequentiallyConsistent) }
        do {
            try await body()
        } catch is StoreError {
            return
        }
        for (slot, number) in before {
            slot.known.withLock { known in
                known.least = max(known.least, number + 1)
                known.acknowledged = min(known.acknowledged, 0)
            }
        }
    }

    private func disturb(_ store: CacheManager, _ generator: inout SeededGenerator) async throws {
        let index = Int.random(in: 0..<2, using: &generator)
        let task = Int.random(in: 0..<Self.tasks, using: &generator)
        let name = "\(["f", "h"][Int.random(in: 0...1, using: &generator)])/\(task)/\(index)"
        let key = try cacheKey("/\(name)")
        let choice = Int.random(in: 0..<(isLossy ? 14 : 12), using: &generator)
        let (scope, covers): (InvalidationScope, (Slot) -> Bool) =
            switch choice % 6 {
            case 0: (.all, { $0.kind != .object })
            case 1: (.tag("t\(index)"), { $0.kind != .object && $0.tag == "t\(index)" })
            case 2: (.target(key.components.target), { $0.name == name })
            case 3: (.prefix(try TargetPrefix("https://api.example/f/\(task)")), { $0.name.hasPrefix("f/\(task)") })
            case 4: (.tag("none"), { _ in false })
            default: (.key(key), { $0.name == name })
            }
        switch choice {
        case 0..<6:
            let before = slots.filter(covers).map { slot in
                (slot, slot.known.withLock { slot.kind == .fenced ? $0.issued : $0.acknowledged })
            }
            do {
                try await store.responses.invalidate(scope, keepingForOffline: true, at: clock.now())
            } catch is StoreError {
                return
            }
            for (slot, number) in before {
                slot.known.withLock { $0.invalidated = max($0.invalidated, number) }
            }
        case 6..<12:
            if choice == 6, index == 0 {
                try await remove(covering: { _ in true }) { try await store.removeAll() }
            } else {
                try await remove(covering: covers) {
                    try await store.responses.invalidate(scope, keepingForOffline: false, at: self.clock.now())
                }
            }
        case 12: try store.setAsideForTesting()
        default:
            for index in 0..<20 {
                try? await store.setObject(String(repeating: ".", count: 60_000), forKey: "noise/\(task)/\(index)")
            }
        }
    }

    // MARK: Reading

    private func read(_ store: CacheManager, _ generator: inout SeededGenerator) async throws {
        let slot = slots[Int.random(in: 0..<slots.count, using: &generator)]
        let way = Int.random(in: 0..<4, using: &generator)
        let others = slots.filter {
            $0.kind == slot.kind && ($0 === slot || Int.random(in: 0..<4, using: &generator) == 0)
        }
        let asked = way == 0 ? others : slot.kind == .fenced ? slots.filter { $0.name == slot.name } : [slot]
        let before = asked.map { $0.known.withLock { $0 } }
        let removals = removalsWhileQuiet
        var found: [(number: Int, isValid: Bool)?] = []
        do {
            if slot.kind == .object {
                if way == 0 {
                    let values = try await store.objects([String].self, forKeys: asked.map(\.name))
                    found = values.map { $0?.first.map { (Self.number($0), true) } }
                } else {
                    found = [
                        try await store.object([String].self, forKey: slot.name)?.first.map { (Self.number($0), true) }
                    ]
                }
            } else if way == 0 {
                let keys = try asked.map { try $0.key }
                let values = try await store.storedResponses(for: keys)
                // Of several variants it returns one.
                found = zip(asked, keys).map { slot, key in
                    guard slot.kind == .byHand, let stored = values[key] else { return nil }
                    return (Self.number(stored.response.fields[Self.numberName]), !stored.isExpired)
                }
                if slot.kind == .fenced { return }
            } else {
                let resident = way == 1 ? store.responses.resident(try slot.key) : nil
                let responses = if let resident { resident } else { try await store.responses.lookup(slot.key) }
                for one in asked {
                    let variants = responses.filter { one.kind == .byHand || Self.variant($0) == one.variant }
                    if variants.count > 1 { find("\(one.name) \(one.variant): \(variants.count) of one variant") }
                    guard let response = variants.first else {
                        found.append(nil)
                        continue
                    }
                    let fields = response.head.fields
                    if let body = response.content?.body {
                        let text = String(
                            buffer: body.getSlice(at: body.readerIndex, length: min(10, body.readableBytes)) ?? body
                        )
                        if Int(text) != Self.number(fields[Self.bodyName]) {
                            find("\(one.name): \(fields) with \(text)")
                        }
                    }
                    found.append((Self.number(fields[Self.numberName]), !response.head.isInvalidated))
                }
            }
        } catch let error as StoreError {
            if !isLossy { find("\(slot.name): \(error)") }
            return
        }
        let isQuiet = isQuiet(since: removals)
        for ((slot, before), found) in zip(zip(asked, before), found) {
            guard let found else {
                if isQuiet, !isLossy, before.acknowledged > 0 {
                    find("\(slot.name) \(slot.variant): nothing, and \(before.acknowledged) was acknowledged")
                }
                continue
            }
            state.withLock { $0.seen += 1 }
            if let wrong = slot.see(found.number, before) { find(wrong) }
            if found.isValid, found.number <= before.invalidated {
                find("\(slot.name) \(slot.variant): \(found.number) valid, \(before.invalidated) was invalidated")
            }
        }
    }

    // MARK: Values

    private static let numberName = HTTPField.Name("x-number") ?? .eTag
    private static let bodyName = HTTPField.Name("x-body") ?? .lastModified

    private static func fields(_ number: Int, body: Int) -> HTTPFields {
        var fields: HTTPFields = [.vary: "accept-language"]
        fields[numberName] = "\(number)"
        fields[bodyName] = "\(body)"
        return fields
    }

    private static func body(_ number: Int, _ padding: Int) -> ByteBuffer {
        let digits = "\(number)"
        var body = ByteBuffer(string: String(repeating: "0", count: 10 - digits.count) + digits)
        body.writeRepeatingByte(UInt8(ascii: "."), count: padding)
        return body
    }

    private static func number(_ text: String?) -> Int { text.flatMap { Int($0) } ?? 0 }

    private static func variant(_ response: StoredResponse) -> String {
        response.head.selectingFields[.acceptLanguage] ?? ""
    }
}
