/// The host of target URIs, for a purge by host.
///
/// It covers the targets with this host, of both schemes and on every port.
///
/// ```swift
/// let host = try TargetHost("a.example")
/// host.covers(try TargetURI("https://a.example:8443/img/a.png"))  // true
/// host.covers(try TargetURI("https://b.a.example/"))              // false
/// ```
public struct TargetHost: Sendable, Hashable, CustomStringConvertible {
    /// Lower-case host: a name, an IPv4 address, or an IPv6 address in brackets.
    public let name: String

    /// Parses a host, as the authority of a URI has it.
    ///
    /// - Throws: ``TargetURIError`` if the text is no host, or is more than one: a port, a path, a
    ///   scheme.
    public init(_ text: String) throws {
        let target = try TargetURI("http://\(text)/")
        // A port, a path or a query in the text would make it longer than the host.
        guard target.host.utf8.count == text.utf8.count else { throw TargetURIError(.invalidHost, text: text) }
        name = target.host
    }

    /// Makes the host of a target.
    public init(_ target: TargetURI) { name = target.host }

    /// Whether a target has this host.
    public func covers(_ target: TargetURI) -> Bool { target.host == name }

    /// Whether a key's target has this host, in any partition and with any method.
    public func covers(_ key: CacheKey) -> Bool { covers(key.components.target) }

    /// ``name``.
    public var description: String { name }
}

/// The encoding that a store keeps, beside those of ``TargetPrefix``.
extension TargetHost {
    /// The first byte of the encoding. No ``CacheKey/version`` is 0, so it is no prefix's.
    static let form: UInt8 = 0

    /// ``form`` and the host, encoded as in a ``CacheKey``.
    package var canonicalBytes: [UInt8] {
        var writer = CanonicalWriter(capacity: 4 + name.utf8.count)
        writer.write(byte: Self.form)
        writer.write(name)
        return writer.bytes
    }

    /// Compares the host behind ``form`` with a key's. It allocates nothing.
    static func covers(host: consuming CanonicalCursor, key: UnsafeRawBufferPointer) -> Bool {
        var key = CanonicalCursor(key)
        guard key.byte() == CacheKey.version else { return false }
        // Partition, method and scheme.
        guard let kind = key.byte(), kind == 0 || key.component() != nil, key.component() != nil,
            key.component() != nil, let own = host.component(), let other = key.component()
        else { return false }
        return own.elementsEqual(other)
    }
}
