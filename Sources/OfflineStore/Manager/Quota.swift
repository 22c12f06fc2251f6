extension CacheManager {
    /// A limit on the bytes that some responses may take together.
    ///
    /// When the responses exceed the limit, some of them are evicted soon after that commit, down
    /// to 90 % of the quota, in the order of ``CacheManager/Configuration/evictionOrder``. Pinned
    /// responses stay. A response that is larger than the quota is not stored.
    ///
    /// ```swift
    /// configuration.quotas = [
    ///     .tag("thumbnails", bytes: 64 << 20),
    ///     .origin("https://images.example", bytes: 256 << 20),
    ///     .everyOrigin(bytes: 32 << 20),
    /// ]
    /// ```
    ///
    /// A quota includes the bytes of bodies, heads and keys, and the approximate size of their
    /// rows. It does not include the space lost to whole pages.
    ///
    /// A store does not open (``StoreError`` with `invalidConfiguration`) if a quota is less than 1
    /// byte, if two quotas have the same subject, if an origin is invalid, or if a tag is empty or
    /// longer than 1,024 bytes.
    public struct Quota: Sendable, Hashable {
        enum Subject: Sendable, Hashable {
            case tag(String)
            case origin(String)
            case everyOrigin
        }

        let subject: Subject
        let bytes: Int64

        /// Limits the bytes of all responses with a tag, in all partitions together.
        public static func tag(_ name: String, bytes: Int64) -> Quota { Quota(subject: .tag(name), bytes: bytes) }

        /// Limits the bytes of the responses of one origin, such as `https://a.example`, with a
        /// port if it is not the default.
        ///
        /// The quota counts responses that are stored or freshened while a quota for the origin is
        /// configured.
        public static func origin(_ origin: String, bytes: Int64) -> Quota {
            Quota(subject: .origin(origin), bytes: bytes)
        }

        /// Limits the bytes of the responses of each origin that no ``origin(_:bytes:)`` names.
        ///
        /// The quota counts responses that are stored or freshened while it is configured.
        public static func everyOrigin(bytes: Int64) -> Quota { Quota(subject: .everyOrigin, bytes: bytes) }
    }
}
