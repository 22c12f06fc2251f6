public import HTTPTypes

/// The cache key: a canonical, length-prefixed encoding of everything that tells one stored
/// response from another.
///
/// Its first byte is the version of the encoding; then follow partition, method class, scheme,
/// authority with port, path, query and, where the content is part of the key, content type,
/// content coding and SHA-256 of the content. Each is written with its length, so no delimiter can
/// be injected. Two requests share a key exactly when their bytes are equal.
///
/// ```
/// version · partition kind [· value] · method · scheme · host · port (2 bytes) · path · query · content flag [· type · coding · digest]
/// ```
///
/// A component is its length plus one, as a minimal base-128 number (low groups first), then its
/// bytes; zero alone is an absent one. So a target without a query and one with an empty query have
/// different keys.
///
/// RFC 9111 §2, RFC 10008 (QUERY)
public struct CacheKey: Sendable, Hashable {
    /// Whose stored responses these are. Names are compared by their bytes.
    public enum Partition: Sendable {
        /// Everybody's: requests without credentials, and responses that may be shared.
        case shared
        /// A principal the caller named.
        case principal(String)
        /// An HMAC of the request's credentials under the store's secret; never the credentials
        /// themselves.
        case credentials([UInt8])
    }

    /// The content of a request whose answer depends on it (QUERY; POST where the caller opted in).
    ///
    /// Its texts are compared by their bytes.
    public struct Content: Sendable {
        /// `Content-Type` as sent; `nil` where the request had none, which is not the same as an
        /// empty one.
        public var type: String?
        /// `Content-Encoding` as sent.
        public var coding: String?
        /// SHA-256 of the content's bytes, 32 of them.
        public var sha256: [UInt8]

        /// - Parameter sha256: 32 bytes; whatever is given is keyed as it is.
        public init(type: String?, coding: String?, sha256: [UInt8]) {
            self.type = type
            self.coding = coding
            self.sha256 = sha256
        }
    }

    /// The version of the encoding; the first byte of every key.
    public static let version: UInt8 = 1

    /// The canonical encoding.
    public let bytes: [UInt8]

    /// Makes the key of a request.
    ///
    /// - Parameter method: GET and HEAD are one class and share a key; every other method is a
    ///   class of its own.
    public init(
        partition: Partition = .shared,
        method: HTTPRequest.Method = .get,
        target: TargetURI,
        content: Content? = nil
    ) {
        // One allocation: the lengths are known, and 48 bytes are more than prefixes, port, flags
        // and scheme take.
        var capacity = 48 + target.host.utf8.count + target.path.utf8.count + (target.query?.utf8.count ?? 0)
        capacity += method.rawValue.utf8.count
        switch partition {
        case .shared: break
        case .principal(let name): capacity += name.utf8.count
        case .credentials(let digest): capacity += digest.count
        }
        if let content {
            capacity += (content.type?.utf8.count ?? 0) + (content.coding?.utf8.count ?? 0) + content.sha256.count
        }
        var writer = CanonicalWriter(capacity: capacity)
        writer.write(byte: Self.version)
        writer.write(partition: partition)
        writer.write(method == .head ? HTTPRequest.Method.get.rawValue : method.rawValue)
        writer.write(target: target)
        writer.write(content: content)
        bytes = writer.bytes
    }

    private init(unchecked bytes: [UInt8]) { self.bytes = bytes }

    /// By the bytes, all at once: an array's own hash takes them one by one.
    public func hash(into hasher: inout Hasher) {
        bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
    }

    /// A key read back from a store; `nil` when the bytes are no canonical key of a known version.
    ///
    /// Canonical: exactly what ``init(partition:method:target:content:)`` writes. Bytes after the
    /// end, a length in more bytes than it needs, text that is not UTF-8, a method `HEAD` or an
    /// impossible target are all refused.
    public init?(bytes: [UInt8]) {
        guard Self.decode(bytes) != nil else { return nil }
        self.bytes = bytes
    }

    /// What a key says, taken apart again (for tools; the key itself is compared as bytes).
    public struct Components: Sendable, Hashable {
        /// Whose stored responses these are.
        public var partition: Partition
        /// `GET` for GET and HEAD.
        public var method: HTTPRequest.Method
        /// The target.
        public var target: TargetURI
        /// The request's content, where it is part of the key.
        public var content: Content?

        /// Makes components; for tests and tools.
        public init(partition: Partition, method: HTTPRequest.Method, target: TargetURI, content: Content? = nil) {
            self.partition = partition
            self.method = method
            self.target = target
            self.content = content
        }
    }

    /// The key taken apart.
    public var components: Components {
        // Every way to make a key goes through the encoder or the decoder, so this succeeds; a
        // value that says "nothing" stands in all the same, because this module never traps.
        Self.decode(bytes)
            ?? Components(
                partition: .shared,
                method: .get,
                target: TargetURI(scheme: "http", host: "invalid", port: 80, path: "/", query: nil)
            )
    }

    /// Whether it is in everybody's partition.
    package var isShared: Bool {
        // The second byte says so.
        bytes.count > 1 && bytes[1] == 0
    }

    /// The same request in another partition.
    public func inPartition(_ partition: Partition) -> CacheKey {
        if partition == .shared, isShared { return self }
        var reader = CanonicalReader(bytes)
        guard reader.byte() != nil, reader.partition() != nil else { return self }
        var writer = CanonicalWriter(capacity: bytes.count + 48)
        writer.write(byte: Self.version)
        writer.write(partition: partition)
        writer.write(raw: bytes[reader.position...])
        return CacheKey(unchecked: writer.bytes)
    }
}
