extension CacheManager {
    /// A share of the store that some responses may take together.
    ///
    /// When they come to more, some of them are evicted, down to 90 % of the quota, soon after the
    /// commit that went beyond it: those that come first by
    /// ``CacheManager/Configuration/evictionOrder``. Pinned ones stay. A response that is larger
    /// than the quota is not stored.
    ///
    /// ```swift
    /// configuration.quotas = [
    ///     .tag("thumbnails", bytes: 64 << 20),
    ///     .origin("https://images.example", bytes: 256 << 20),
    ///     .everyOrigin(bytes: 32 << 20),
    /// ]
    /// ```
    ///
    /// Counted are the bytes of bodies, heads and keys, and what their rows take, about; not the
    /// space that is lost to whole pages.
    ///
    /// A store does not open (``StoreError`` with `invalidConfiguration`) with a quota of less than
    /// 1 byte, two for the same thing, a tag of more than 1,024 bytes or none, or what is no
    /// origin.
    public struct Quota: Sendable, Hashable {
        enum Subject: Sendable, Hashable {
            case tag(String)
            case origin(String)
            case everyOrigin
        }

        let subject: Subject
        let bytes: Int64

        /// What the responses that carry a tag may take, in bytes, in all partitions together.
        public static func tag(_ name: String, bytes: Int64) -> Quota { Quota(subject: .tag(name), bytes: bytes) }

        /// What the responses of one origin may take, in bytes: `https://a.example`, or with a
        /// port.
        ///
        /// Counted is what is stored or freshened while a quota for the origin is configured.
        public static func origin(_ origin: String, bytes: Int64) -> Quota {
            Quota(subject: .origin(origin), bytes: bytes)
        }

        /// What the responses of each origin may take, in bytes, where no ``origin(_:bytes:)``
        /// names it.
        ///
        /// Counted is what is stored or freshened while it is configured.
        public static func everyOrigin(bytes: Int64) -> Quota { Quota(subject: .everyOrigin, bytes: bytes) }
    }
}
