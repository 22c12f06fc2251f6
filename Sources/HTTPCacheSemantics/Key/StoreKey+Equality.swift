/// Two partitions are equal exactly if they encode to the same bytes.
extension StoreKey.Partition: Hashable {
    /// Returns whether both values are the same partition.
    public static func == (left: Self, right: Self) -> Bool {
        switch (left, right) {
        case (.common, .common): true
        case (.principal(let one), .principal(let another)): one.hasSameBytes(as: another)
        case (.credentials(let one), .credentials(let another)): one == another
        case (.job(let one), .job(let another)): one.hasSameBytes(as: another)
        case (.common, _), (.principal, _), (.credentials, _), (.job, _): false
        }
    }

    /// Hashes the bytes that equal partitions share.
    public func hash(into hasher: inout Hasher) {
        switch self {
        case .common: hasher.combine(0)
        case .principal(let name), .job(let name): hasher.combine(bytesOf: name)
        case .credentials(let digest): hasher.combine(digest)
        }
    }
}

/// Two contents are equal exactly if they encode to the same bytes.
extension StoreKey.Content: Hashable {
    /// Returns whether both values are the same content.
    public static func == (left: Self, right: Self) -> Bool {
        left.sha256 == right.sha256 && left.type.hasSameBytes(as: right.type)
            && left.coding.hasSameBytes(as: right.coding)
    }

    /// Hashes the digest.
    public func hash(into hasher: inout Hasher) { hasher.combine(sha256) }
}
