/// What a store may hold, place by place, after operations of which some were acknowledged, some
/// failed and one was cut short.
package struct StoreModel: Sendable {
    /// What may go wrong without anybody being at fault.
    package struct Tolerance: Sendable {
        /// Entries may be missing: the budget is small, or their bytes were damaged.
        package var mayMiss = false
        /// Entries may count as invalidated although nobody invalidated them: the store knows that
        /// it lost something.
        package var mayDistrust = false
        /// What is not durable may be lost, though it was acknowledged: the power failed.
        package var mayForget = false

        package init(mayMiss: Bool = false, mayDistrust: Bool = false, mayForget: Bool = false) {
            self.mayMiss = mayMiss
            self.mayDistrust = mayDistrust
            self.mayForget = mayForget
        }
    }

    /// What may be at each place now.
    private var possible: [Place: Set<Version?>] = [:]
    /// What was there since the last durable operation, and may be there again after a power
    /// failure.
    private var former: [Place: Set<Version?>] = [:]
    /// The number of the last invalidation is at least this.
    package private(set) var sequence: Int64 = 0

    package init(lanes: Int) {
        for lane in 0..<lanes {
            for place in Place.all(lane: lane) { possible[place] = [nil] }
        }
    }

    package var places: [Place] { possible.keys.sorted() }

    /// An operation begins: from now on it may have happened.
    ///
    /// - Returns: what ``acknowledged(_:_:)`` needs if it is known to have.
    package mutating func tried(_ operation: Operation) -> [Place: Set<Version?>] {
        var certain: [Place: Set<Version?>] = [:]
        for (place, versions) in possible {
            let after = Set(versions.map { operation.result(at: place, from: $0) })
            guard after != versions else { continue }
            certain[place] = after
            possible[place] = versions.union(after)
        }
        return certain
    }

    /// It is known to have happened.
    package mutating func acknowledged(_ operation: Operation, _ certain: [Place: Set<Version?>]) {
        // What was removed by its name and was not there is no commit.
        var isCommit = true
        if case .removeObject = operation { isCommit = !certain.isEmpty }
        if operation.isDurable, isCommit {
            former = [:]
        } else {
            for (place, _) in certain { former[place, default: []].formUnion(possible[place] ?? []) }
        }
        guard operation.isPromised else { return }
        for (place, versions) in certain { possible[place] = versions }
        switch operation {
        case .invalidateKey, .invalidateTarget, .invalidateTag, .invalidateAll, .removeAll: sequence += 1
        default: break
        }
    }

    /// What was observed at a place. From now on it is what must be there.
    ///
    /// - Returns: what is wrong with it; `nil` when it may be so.
    package mutating func observed(_ version: Version?, at place: Place, _ tolerance: Tolerance) -> String? {
        let candidates = candidates(version, at: place, tolerance)
        let expected = possible[place] ?? []
        if !candidates.isEmpty {
            possible[place] = candidates
            former[place] = nil
            return nil
        }
        possible[place] = [version]
        let words = expected.map { $0.map { "\($0)" } ?? "nothing" }.sorted().joined(separator: " or ")
        return "\(place) is \(version.map { "\($0)" } ?? "nothing"), and should be \(words)"
    }

    /// Whether a place may hold what was just read from it, whatever else may be there. A miss is
    /// none of its business.
    package func allows(_ version: Version, at place: Place, _ tolerance: Tolerance) -> Bool {
        !candidates(version, at: place, tolerance).isEmpty
    }

    /// The number of the last invalidation was observed.
    ///
    /// - Returns: what is wrong with it.
    package mutating func observed(sequence observed: Int64) -> String? {
        defer { sequence = max(sequence, observed) }
        return observed < sequence ? "the sequence is \(observed), and was \(sequence) at least" : nil
    }

    /// Tags are not observed, so several versions may fit.
    private func candidates(_ version: Version?, at place: Place, _ tolerance: Tolerance) -> Set<Version?> {
        var known = possible[place] ?? []
        if tolerance.mayForget { known.formUnion(former[place] ?? []) }
        guard let version else { return known.contains(nil) || tolerance.mayMiss ? [nil] : [] }
        var fitting: Set<Version?> = []
        for case var candidate? in known {
            guard candidate.content == version.content, candidate.freshened == version.freshened else { continue }
            guard candidate.isMarked == version.isMarked || (tolerance.mayDistrust && version.isMarked) else {
                continue
            }
            candidate.isMarked = version.isMarked
            fitting.insert(candidate)
        }
        return fitting
    }
}
