import HTTPCacheSemantics

/// Tags are compared by their bytes, as stores compare them.
extension InvalidationScope: Hashable {
    /// Whether both cover the same responses.
    public static func == (left: Self, right: Self) -> Bool {
        switch (left, right) {
        case (.target(let one), .target(let another)): one == another
        case (.prefix(let one), .prefix(let another)): one == another
        case (.key(let one), .key(let another)): one == another
        case (.tag(let one), .tag(let another)): one.hasSameBytes(as: another)
        case (.all, .all): true
        case (.target, _), (.prefix, _), (.key, _), (.tag, _), (.all, _): false
        }
    }

    /// Hashes the same parts that equality compares.
    public func hash(into hasher: inout Hasher) {
        switch self {
        case .target(let target): hasher.combine(target)
        case .prefix(let prefix): hasher.combine(prefix)
        case .key(let key): hasher.combine(key)
        case .tag(let tag): hasher.combine(bytesOf: tag)
        case .all: hasher.combine(0)
        }
    }
}
