/// A host in target URIs, for a purge by host.
///
/// It covers the targets with this host in both schemes and on every port.
///
/// ```swift
/// let host = try TargetHost("a.example")
/// host.covers(try TargetURI("https://a.example:8443/img/a.png"))  // true
/// host.covers(try TargetURI("https://b.a.example/"))              // false
/// ```
public struct TargetHost: Sendable, Hashable, CustomStringConvertible {
    /// The host in lower case: a name, an IPv4 address, or an IPv6 address in brackets.
    public let name: String

    /// Parses a host, written as in a URI.
    ///
    /// - Throws: ``TargetURIError`` if the text is not a host, or contains a port, a path or a
    ///   scheme.
    public init(_ text: String) throws {
        let target = try TargetURI("http://\(text)/")
        // With a port, a path or a query, the text would be longer than the host.
        guard target.host.utf8.count == text.utf8.count else { throw TargetURIError(.invalidHost, text: text) }
        name = target.host
    }

    /// Creates the host of a target.
    public init(_ target: TargetURI) { name = target.host }

    /// Returns whether a target has this host.
    public func covers(_ target: TargetURI) -> Bool { target.host == name }

    /// Returns whether a key's target has this host, in any partition and for any method.
    public func covers(_ key: StoreKey) -> Bool { covers(key.components.target) }

    /// The host; see ``name``.
    public var description: String { name }
}

/// The stored encoding. A store keeps it together with the encodings of ``TargetPrefix``.
extension TargetHost {
    /// The first byte of the encoding. No ``StoreKey/version`` is 0, so no prefix begins with it.
    static let form: UInt8 = 0

    /// The encoding: ``form``, then the host as encoded in a ``StoreKey``.
    package var canonicalBytes: [UInt8] {
        var writer = CanonicalWriter(capacity: 4 + name.utf8.count)
        writer.write(byte: Self.form)
        writer.write(name)
        return writer.bytes
    }

    /// Compares the host after ``form`` with the host in a key, without allocating memory.
    static func covers(host: consuming CanonicalCursor, key: UnsafeRawBufferPointer) -> Bool {
        var key = CanonicalCursor(key)
        guard key.byte() == StoreKey.version else { return false }
        // Skip the partition, method and scheme.
        guard let kind = key.byte(), kind == 0 || key.component() != nil, key.component() != nil,
            key.component() != nil, let own = host.component(), let other = key.component()
        else { return false }
        return own.elementsEqual(other)
    }
}
