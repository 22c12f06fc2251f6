/// The name of one purge: 16 random bytes. It is the same wherever and however often the purge is
/// published.
package struct PurgeID: Sendable, Hashable, CustomStringConvertible {
    private let sixteen: SixteenBytes

    package init(using generator: inout some RandomNumberGenerator) { sixteen = SixteenBytes(using: &generator) }

    /// - Returns: `nil` unless there are 16 bytes.
    package init?(_ bytes: some Collection<UInt8>) {
        guard let sixteen = SixteenBytes(bytes) else { return nil }
        self.sixteen = sixteen
    }

    package var bytes: [UInt8] { sixteen.bytes }
    package var description: String { sixteen.hex }
}

/// The responses that a purge covers. Selectors are bytes, which the stores of all nodes read the
/// same way; their meaning is none of this module's business.
package enum PurgeScope: Sendable, Hashable {
    case all
    case target([UInt8])
    case key([UInt8])
    case tag([UInt8])
    case prefix([UInt8])
    case host([UInt8])

    /// The longest selector, in bytes: a cache key with the longest target and its other parts.
    package static let longestSelector = 80 << 10
}

/// A purge as the nodes tell it one another.
package struct PurgeRecord: Sendable, Hashable {
    package enum Kind: UInt8, Sendable, Hashable {
        /// Marks as stale, and keeps the offline copies.
        case soft = 0
        /// Removes.
        case hard = 1
    }

    package var id: PurgeID
    /// The node at which it was asked for.
    package var node: NodeName
    package var kind: Kind
    package var scope: PurgeScope
    /// When it was asked for, by the engine's clock.
    package var issuedAt: EngineTime

    package init(id: PurgeID, node: NodeName, kind: Kind, scope: PurgeScope, issuedAt: EngineTime) {
        self.id = id
        self.node = node
        self.kind = kind
        self.scope = scope
        self.issuedAt = issuedAt
    }
}

extension PurgeRecord {
    /// The sealed part: kind, scope, time, length of the node's name, the name, the selector.
    var content: [UInt8] {
        var bytes: [UInt8] = [kind.rawValue, scope.code]
        let time = UInt64(bitPattern: issuedAt.milliseconds)
        bytes += (0..<8).map { UInt8(truncatingIfNeeded: time >> (56 - 8 * $0)) }
        // At most 64.
        bytes.append(UInt8(node.text.utf8.count))
        bytes += node.text.utf8
        bytes += scope.selector
        return bytes
    }

    init?(id: PurgeID, content: some RandomAccessCollection<UInt8>) {
        var rest = content[...]
        guard let kindCode = rest.popFirst(), let kind = Kind(rawValue: kindCode), let scopeCode = rest.popFirst(),
            rest.count >= 9
        else { return nil }
        let time = rest.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        rest = rest.dropFirst(8)
        guard let nameLength = rest.popFirst().map({ Int($0) }), rest.count >= nameLength,
            let node = NodeName(String(decoding: rest.prefix(nameLength), as: UTF8.self)),
            let scope = PurgeScope(code: scopeCode, selector: Array(rest.dropFirst(nameLength)))
        else { return nil }
        self.init(
            id: id,
            node: node,
            kind: kind,
            scope: scope,
            issuedAt: EngineTime(milliseconds: Int64(bitPattern: time))
        )
    }
}

extension PurgeScope {
    package var selector: [UInt8] {
        switch self {
        case .all: []
        case .target(let bytes), .key(let bytes), .tag(let bytes), .prefix(let bytes), .host(let bytes): bytes
        }
    }

    fileprivate var code: UInt8 {
        switch self {
        case .all: 0
        case .target: 1
        case .key: 2
        case .tag: 3
        case .prefix: 4
        case .host: 5
        }
    }

    fileprivate init?(code: UInt8, selector: [UInt8]) {
        guard selector.count <= Self.longestSelector else { return nil }
        switch code {
        case 0:
            guard selector.isEmpty else { return nil }
            self = .all
        case 1: self = .target(selector)
        case 2: self = .key(selector)
        case 3: self = .tag(selector)
        case 4: self = .prefix(selector)
        case 5: self = .host(selector)
        default: return nil
        }
    }
}
