package import HTTPCacheSemantics
import HTTPTypes

/// A key of one lane, at which an entry can be stored.
///
/// Lanes run at the same time and share no keys and no tags, so that each knows its expected
/// content.
package struct Place: Hashable, Sendable, Comparable, CustomStringConvertible {
    package enum Kind: Int, Sendable { case response, object }

    package var lane: Int
    package var kind: Kind
    package var index: Int

    package static let responseCount = 10
    package static let objectCount = 5

    /// Returns every place of a lane.
    package static func all(lane: Int) -> [Place] {
        (0..<responseCount).map { Place(lane: lane, kind: .response, index: $0) }
            + (0..<objectCount).map { Place(lane: lane, kind: .object, index: $0) }
    }

    package init(lane: Int, kind: Kind, index: Int) {
        self.lane = lane
        self.kind = kind
        self.index = index
    }

    package var target: TargetURI {
        get throws { try TargetURI("https://origin.example/\(lane)/\(index)") }
    }

    package var cacheKey: StoreKey {
        get throws { StoreKey(partition: .common, method: .get, target: try target) }
    }

    package var objectKey: String { "\(lane)/\(index)" }

    package var description: String { "\(kind) \(lane)/\(index)" }

    package static func < (lhs: Place, rhs: Place) -> Bool {
        (lhs.lane, lhs.kind.rawValue, lhs.index) < (rhs.lane, rhs.kind.rawValue, rhs.index)
    }
}

/// An operation on a store.
package enum Operation: Sendable, Hashable {
    /// Stores an object by an explicit call.
    case setObject(Place, Content)
    case removeObject(Place)
    /// Stores a response by an explicit call.
    case setResponse(Place, Content, tags: Set<Int>)
    /// Stores a response as the engine does, in pieces of some bytes.
    case fill(Place, Content, tags: Set<Int>, piece: Int)
    /// Stores a response whose origin closes the connection after half of it.
    case abandon(Place, Content)
    /// Freshens as a 304 does; the number distinguishes it from others.
    case freshen(Place, Int)
    case invalidateKey(Place, isKept: Bool)
    case invalidateTarget(Place, isKept: Bool)
    case invalidateTag(lane: Int, Int, isKept: Bool)
    /// Invalidates all responses of the store.
    case invalidateAll(isKept: Bool)
    /// Removes all responses and objects of the store.
    case removeAll
    case read(Place)
    /// Waits for the store's housekeeping.
    case settle

    /// Whether it is committed when it returns, so that it outlasts the process.
    ///
    /// A response that passes through an exchange has no such promise.
    package var isPromised: Bool {
        switch self {
        case .fill, .freshen: false
        default: true
        }
    }

    /// Whether it survives a power failure, with everything before it.
    package var isDurable: Bool {
        switch self {
        case .removeObject, .invalidateKey, .invalidateTarget, .invalidateTag, .invalidateAll, .removeAll: true
        case .setObject, .setResponse, .fill, .abandon, .freshen, .read, .settle: false
        }
    }
}

/// The content of a place.
package struct Version: Hashable, Sendable {
    package var content: Content
    package var tags: Set<Int> = []
    package var isMarked = false
    package var freshened = 0
}

extension Operation {
    /// Returns the content of a place after the operation.
    package func result(at place: Place, from version: Version?) -> Version? {
        switch self {
        case .setObject(place, let content): return Version(content: content)
        case .removeObject(place): return nil
        case .setResponse(place, let content, let tags), .fill(place, let content, let tags, _):
            return Version(content: content, tags: tags)
        case .freshen(place, let number):
            return version.map { Version(content: $0.content, tags: $0.tags, freshened: number) }
        case .invalidateKey(place, let isKept), .invalidateTarget(place, let isKept):
            return Self.invalidated(version, isKept)
        case .invalidateTag(place.lane, let tag, let isKept):
            return version?.tags.contains(tag) == true ? Self.invalidated(version, isKept) : version
        case .invalidateAll(let isKept): return place.kind == .response ? Self.invalidated(version, isKept) : version
        case .removeAll: return nil
        case .setObject, .removeObject, .setResponse, .fill, .abandon, .freshen, .invalidateKey, .invalidateTarget,
            .invalidateTag, .read, .settle:
            return version
        }
    }

    private static func invalidated(_ version: Version?, _ isKept: Bool) -> Version? {
        guard isKept, var version else { return nil }
        version.isMarked = true
        return version
    }
}
