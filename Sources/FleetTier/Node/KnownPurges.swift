import HTTPCache
import HTTPCacheSemantics

/// The position of the last purge of each scope in the fleet log. It decides whether other nodes'
/// responses are current.
///
/// A response is outdated if it is affected by a purge whose position is after the response's
/// fencing position. No clocks are compared.
struct KnownPurges: Sendable {
    /// The maximum number of remembered keys, targets and tags, which take about 12 MiB.
    static let capacity = 262_144
    /// The maximum number of remembered prefixes and hosts.
    static let wideCapacity = 64

    /// The last position by hash of the scope. If two scopes share a hash, a current response may
    /// count as outdated; the only cost is an extra request.
    private var last: [Int: LogPosition] = [:]
    /// Prefixes and hosts. They cannot be looked up from a response, so each of them is compared.
    private var wide: [(scope: InvalidationScope, position: LogPosition)] = []
    private var lastOfAll = LogPosition.zero
    /// The position up to which purges may be unknown. A response with an earlier fencing position
    /// is not accepted.
    private(set) var lowWaterMark: LogPosition

    /// - Parameter lowWaterMark: the position after which every purge will be recorded.
    init(lowWaterMark: LogPosition) { self.lowWaterMark = lowWaterMark }

    mutating func raiseLowWaterMark(to position: LogPosition) { lowWaterMark = max(lowWaterMark, position) }

    mutating func note(_ invalidation: FleetInvalidation, at position: LogPosition) {
        for part in invalidation.parts { note(part.scope, at: position) }
    }

    mutating func note(_ scope: InvalidationScope, at position: LogPosition) {
        switch scope {
        case .all: lastOfAll = max(lastOfAll, position)
        case .principal:
            // Other nodes never share responses of principals.
            break
        case .prefix, .host:
            if let index = wide.firstIndex(where: { $0.scope == scope }) {
                wide[index].position = max(wide[index].position, position)
            } else {
                wide.append((scope, position))
                if wide.count > Self.wideCapacity { forgetWide() }
            }
        case .key, .target, .tag:
            let hash = scope.hashValue
            last[hash] = max(last[hash] ?? position, position)
            if last.count > Self.capacity { forget() }
        }
    }

    private mutating func forgetWide() {
        wide.sort { $0.position < $1.position }
        raiseLowWaterMark(to: wide.removeFirst().position)
    }

    /// Forgets the older half. Forgetting half at once makes this call rare.
    private mutating func forget() {
        let positions = last.values.sorted()
        raiseLowWaterMark(to: positions[positions.count / 2])
        last = last.filter { $0.value > lowWaterMark }
    }

    /// Returns whether a response is as current as a new response from the origin: no purge after
    /// its fencing position affects it, and no such purge can have been missed.
    func isCurrent(_ key: StoreKey, tags: [String], fencingPosition: LogPosition) -> Bool {
        guard fencingPosition >= lowWaterMark, fencingPosition >= lastOfAll else { return false }
        func isPurged(_ scope: InvalidationScope) -> Bool {
            last[scope.hashValue].map { $0 > fencingPosition } ?? false
        }
        if isPurged(.key(key)) || isPurged(.target(key.components.target)) { return false }
        if tags.contains(where: { isPurged(.tag($0)) }) { return false }
        return !wide.contains { $0.position > fencingPosition && $0.scope.covers(key, tags: tags) }
    }
}
