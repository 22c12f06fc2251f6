public import HTTPTypes

/// The cache key: the canonical bytes of everything that distinguishes stored responses.
///
/// The key contains, in this order:
///
/// - the **partition**: ``Partition/common``, a principal's name, a digest of the request's
///   credentials, or a job's name;
/// - the **method**: `GET` for GET and HEAD, otherwise the method itself;
/// - the **target URI**: scheme, host, port, path and query, as sent to the origin, without the
///   parameters that rules ignore or that the caller declared secret;
/// - the **content**, only for a method whose content selects the response (QUERY, or POST if the
///   caller opted in): `Content-Type`, `Content-Encoding` and the SHA-256 of the body.
///
/// The key contains no request fields. The fields listed in `Vary` select a variant among the
/// responses stored under one key: see ``CachePolicy/matchesVariant(_:_:)``. A gateway's rules may
/// remove parameters from the query first: see `TargetURI.ignoring(_:)`.
///
/// Each string is prefixed with its length, so its content cannot be mistaken for the boundary
/// between two parts. The first byte is the version of the encoding. Two requests share a key
/// exactly if their bytes are equal.
///
/// ```
/// version · partition kind [· value] · method
///   · scheme · host · port (2 bytes) · path · query
///   · content flag [· type · coding · digest]
/// ```
///
/// A component is its length plus one, as a minimal base-128 number (low groups first), followed by
/// its bytes. A single zero marks an absent component, so a target without a query and a target
/// with an empty query have different keys.
///
/// RFC 9111 §2, RFC 10008 (QUERY)
public struct StoreKey: Sendable, Hashable {
    /// The users of a stored response. Names are compared by their bytes.
    public enum Partition: Sendable {
        /// All users. Used for requests without credentials, and for responses that may be shared.
        case common
        /// The principal that the caller named.
        case principal(String)
        /// An HMAC of the request's credentials under the store's secret; never the credentials
        /// themselves. If the caller also named a principal, the name precedes the HMAC.
        case credentials([UInt8])
        /// The job that recorded the response. No request leads to this partition: only an engine
        /// that records or replays the job does.
        case job(String)
    }

    /// The content of a request whose response depends on it (QUERY, or POST if the caller opted
    /// in).
    ///
    /// Strings are compared by their bytes.
    public struct Content: Sendable {
        /// `Content-Type` as sent; `nil` if the request had none, which is different from an empty
        /// value.
        public var type: String?
        /// `Content-Encoding` as sent.
        public var coding: String?
        /// The SHA-256 of the content, or of its canonical form: 32 bytes.
        public var sha256: [UInt8]

        /// - Parameter sha256: 32 bytes. The length is not checked.
        public init(type: String?, coding: String?, sha256: [UInt8]) {
            self.type = type
            self.coding = coding
            self.sha256 = sha256
        }
    }

    /// The version of the encoding; the first byte of every key.
    package static let version: UInt8 = 1

    /// The canonical encoding of the key.
    public let bytes: [UInt8]

    /// Creates the key of a request.
    ///
    /// - Parameter method: GET and HEAD share a key; every other method has its own keys.
    public init(
        partition: Partition = .common,
        method: HTTPRequest.Method = .get,
        target: TargetURI,
        content: Content? = nil
    ) {
        // Allocate once: the lengths are known, and the prefixes, port, flags and scheme take less
        // than 48 bytes.
        var capacity = 48 + target.host.utf8.count + target.path.utf8.count + (target.query?.utf8.count ?? 0)
        capacity += method.rawValue.utf8.count
        switch partition {
        case .common: break
        case .principal(let name), .job(let name): capacity += name.utf8.count
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

    /// Hashes all bytes at once, because an array's own implementation hashes them one by one.
    public func hash(into hasher: inout Hasher) {
        bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
    }

    /// Reads a key back from a store. Returns `nil` if the bytes are not a canonical key of a known
    /// version.
    ///
    /// A canonical key is exactly what ``init(partition:method:target:content:)`` writes. These are
    /// rejected:
    ///
    /// - extra bytes at the end;
    /// - a length encoded in more bytes than it needs;
    /// - invalid UTF-8;
    /// - the method `HEAD`;
    /// - an impossible target.
    public init?(bytes: [UInt8]) {
        guard Self.decode(bytes) != nil else { return nil }
        self.bytes = bytes
    }

    /// The parts of a key, for tools. Keys themselves are compared as bytes.
    public struct Components: Sendable, Hashable {
        /// The users of the stored response.
        public var partition: Partition
        /// `GET` for GET and HEAD.
        public var method: HTTPRequest.Method
        /// The target.
        public var target: TargetURI
        /// The request's content, if it is part of the key.
        public var content: Content?

        /// Creates components, for tests and tools.
        public init(partition: Partition, method: HTTPRequest.Method, target: TargetURI, content: Content? = nil) {
            self.partition = partition
            self.method = method
            self.target = target
            self.content = content
        }
    }

    /// The parts of the key.
    public var components: Components {
        // Every key was made by the encoder or checked by the decoder, so this succeeds. A
        // placeholder covers the impossible case, because this module never traps.
        Self.decode(bytes)
            ?? Components(
                partition: .common,
                method: .get,
                target: TargetURI(scheme: "http", host: "invalid", port: 80, path: "/", query: nil)
            )
    }

    /// Whether the key is in the common partition.
    package var isCommon: Bool {
        // The second byte is the partition's kind.
        bytes.count > 1 && bytes[1] == 0
    }

    /// Returns the same request's key in another partition.
    package func inPartition(_ partition: Partition) -> StoreKey {
        if partition == .common, isCommon { return self }
        var reader = CanonicalReader(bytes)
        guard reader.byte() != nil, reader.partition() != nil else { return self }
        var writer = CanonicalWriter(capacity: bytes.count + 48)
        writer.write(byte: Self.version)
        writer.write(partition: partition)
        writer.write(raw: bytes[reader.position...])
        return StoreKey(unchecked: writer.bytes)
    }
}
