package import HTTPCache
package import HTTPCacheSemantics

/// A purge in the form that nodes exchange.
package struct PurgeRecord: Sendable, Hashable {
    package var id: PurgeID
    /// The node that sealed the record. It may have the purge from another node, and publishes it
    /// again because the log lost it.
    package var node: NodeName
    package var effect: InvalidationEffect
    package var selector: ScopeSelector
    /// When the purge was requested, on the server's clock.
    package var issuedAt: EngineTime
    /// When the purge was requested, on the clock of the node that sealed it. The server cannot
    /// falsify this time.
    package var issuedLocally: Timestamp

    package init(
        id: PurgeID,
        node: NodeName,
        effect: InvalidationEffect,
        selector: ScopeSelector,
        issuedAt: EngineTime,
        issuedLocally: Timestamp
    ) {
        self.issuedLocally = issuedLocally
        self.id = id
        self.node = node
        self.effect = effect
        self.selector = selector
        self.issuedAt = issuedAt
    }
}

extension PurgeRecord {
    /// The sealed part: the effect, the kind of scope, both times, the length of the node's name,
    /// the name, and the selector.
    var content: [UInt8] {
        var bytes: [UInt8] = [effect.number, selector.kind.rawValue]
        for time in [issuedAt.milliseconds, issuedLocally.milliseconds] {
            let bits = UInt64(bitPattern: time)
            bytes += (0..<8).map { UInt8(truncatingIfNeeded: bits >> (56 - 8 * $0)) }
        }
        // A name has at most 64 bytes.
        bytes.append(UInt8(node.text.utf8.count))
        bytes += node.text.utf8
        bytes += selector.bytes
        return bytes
    }

    init?(id: PurgeID, content: some RandomAccessCollection<UInt8>) {
        var rest = content[...]
        guard let effect = rest.popFirst().flatMap({ InvalidationEffect(number: $0) }),
            let kind = rest.popFirst().flatMap({ ScopeSelector.Kind(rawValue: $0) }), rest.count >= 17
        else { return nil }
        func popTime() -> Int64 {
            let time = rest.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            rest = rest.dropFirst(8)
            return Int64(bitPattern: time)
        }
        let (issuedAt, issuedLocally) = (popTime(), popTime())
        guard let nameLength = rest.popFirst().map({ Int($0) }), rest.count >= nameLength,
            let node = NodeName(String(decoding: rest.prefix(nameLength), as: UTF8.self))
        else { return nil }
        let selector = ScopeSelector(kind: kind, bytes: Array(rest.dropFirst(nameLength)))
        guard selector.bytes.count <= ScopeSelector.longest, kind != .all || selector.bytes.isEmpty else {
            return nil
        }
        self.init(
            id: id,
            node: node,
            effect: effect,
            selector: selector,
            issuedAt: EngineTime(milliseconds: issuedAt),
            issuedLocally: Timestamp(milliseconds: issuedLocally)
        )
    }
}
