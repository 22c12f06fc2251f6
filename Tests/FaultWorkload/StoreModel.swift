/// The possible content of a store, place by place, after operations of which some were
/// acknowledged, some failed and one was interrupted.
package struct StoreModel: Sendable {
    /// Deviations that are no failure.
    package struct Tolerance: Sendable {
        /// Entries may be missing, because the budget is small or their bytes were damaged.
        package var mayMiss = false
        /// Entries may be treated as invalidated without an invalidation, because the store knows
        /// that it lost something.
        package var mayDistrust = false
        /// Acknowledged operations that are not durable may be lost, because the power failed.
        package var mayForget = false

        package init(mayMiss: Bool = false, mayDistrust: Bool = false, mayForget: Bool = false) {
            self.mayMiss = mayMiss
            self.mayDistrust = mayDistrust
            self.mayForget = mayForget
        }
    }

    /// The possible versions at each place.
    private var possible: [Place: Set<Version?>] = [:]
    /// The versions at each place since the last durable operation, which a power failure may bring
    /// back.
    private var former: [Place: Set<Version?>] = [:]
    /// The lowest possible number of the last invalidation.
    package private(set) var sequence: Int64 = 0

    package init(lanes: Int) {
        for lane in 0..<lanes {
            for place in Place.all(lane: lane) { possible[place] = [nil] }
        }
    }

    package var places: [Place] { possible.keys.sorted() }

    /// Begins an operation: from now on it may have happened.
    ///
    /// - Returns: the versions that ``acknowledge(_:_:)`` needs once it has happened.
    package mutating func begin(_ operation: Operation) -> [Place: Set<Version?>] {
        var certain: [Place: Set<Version?>] = [:]
        for (place, versions) in possible {
            let after = Set(versions.map { operation.result(at: place, from: $0) })
            guard after != versions else { continue }
            certain[place] = after
            possible[place] = versions.union(after)
        }
        return certain
    }

    /// Records that an operation has happened.
    package mutating func acknowledge(_ operation: Operation, _ certain: [Place: Set<Version?>]) {
        // Removing an object that is not there makes no commit.
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

    /// Records the version observed at a place. From now on it must be there.
    ///
    /// - Returns: the finding; `nil` if the version is possible.
    package mutating func observe(_ version: Version?, at place: Place, _ tolerance: Tolerance) -> String? {
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

    /// Returns whether a place may hold a version that was just read from it. A miss is always
    /// allowed.
    package func allows(_ version: Version, at place: Place, _ tolerance: Tolerance) -> Bool {
        !candidates(version, at: place, tolerance).isEmpty
    }

    /// Records the observed number of the last invalidation.
    ///
    /// - Returns: the finding, if it is too low.
    package mutating func observe(sequence observed: Int64) -> String? {
        defer { sequence = max(sequence, observed) }
        return observed < sequence ? "the sequence is \(observed), and was \(sequence) at least" : nil
    }

    /// Returns the possible versions that fit; there may be several, because tags are not observed.
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
