/// The stored encoding. It is compared with stored keys without decoding.
extension TargetPrefix {
    /// Version, scheme, host, port and path with query, encoded as in a ``StoreKey``.
    package var canonicalBytes: [UInt8] {
        var writer = CanonicalWriter(capacity: 24 + host.utf8.count + requestTarget.utf8.count)
        writer.write(byte: StoreKey.version)
        writer.write(scheme: scheme, host: host, port: port)
        writer.write(requestTarget)
        return writer.bytes
    }

    /// The encoding of the origin only; see ``TargetURI/originBytes``.
    package var originBytes: [UInt8] { TargetURI.originBytes(scheme: scheme, host: host, port: port) }

    /// Reads a prefix back from a store. Returns `nil` if the bytes are not a prefix.
    package init?(canonicalBytes: [UInt8]) {
        var reader = CanonicalReader(canonicalBytes)
        guard reader.byte() == StoreKey.version, let scheme = reader.requiredText(), let host = reader.requiredText(),
            let high = reader.byte(), let low = reader.byte(), let requestTarget = reader.requiredText(),
            reader.isAtEnd
        else { return nil }
        self.init(scheme: scheme, host: host, port: UInt16(high) << 8 | UInt16(low), requestTarget: requestTarget)
    }

    private init(scheme: String, host: String, port: UInt16, requestTarget: String) {
        self.scheme = scheme
        self.host = host
        self.port = port
        self.requestTarget = requestTarget
    }

    /// Returns whether an encoded prefix, ``TargetHost`` or ``KeyOwner`` covers an encoded key,
    /// like ``covers(_:)-(StoreKey)``. Allocates no memory, because a store calls it for many
    /// entries in a row.
    ///
    /// Returns `false` if the bytes are not a key or not such an encoding.
    package static func covers(prefix: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer) -> Bool {
        var prefix = CanonicalCursor(prefix)
        guard let form = prefix.byte() else { return false }
        if form == TargetHost.form { return TargetHost.covers(host: prefix, key: key) }
        if form == KeyOwner.form { return KeyOwner.covers(owner: prefix, key: key) }
        var key = CanonicalCursor(key)
        guard form == StoreKey.version, key.byte() == StoreKey.version else { return false }
        // Skip the partition and method.
        guard let kind = key.byte(), kind == 0 || key.component() != nil, key.component() != nil else { return false }
        // Scheme, host and port each have only one spelling.
        for _ in 0..<2 {
            guard let own = prefix.component(), let other = key.component(), own.elementsEqual(other) else {
                return false
            }
        }
        for _ in 0..<2 {
            guard let own = prefix.byte(), own == key.byte() else { return false }
        }
        guard let own = prefix.component(), let path = key.component() else { return false }
        if own.count <= path.count { return path.starts(with: own) }
        guard own.starts(with: path), own[own.startIndex + path.count] == UInt8(ascii: "?"),
            let query = key.component()
        else { return false }
        return query.starts(with: own.dropFirst(path.count + 1))
    }
}

extension TargetURI {
    /// A canonical, length-prefixed encoding of scheme, host and port. After a purge by prefix, a
    /// store compares it with in-flight fetches.
    package var originBytes: [UInt8] { Self.originBytes(scheme: scheme, host: host, port: port) }

    fileprivate static func originBytes(scheme: String, host: String, port: UInt16) -> [UInt8] {
        var writer = CanonicalWriter(capacity: 16 + host.utf8.count)
        writer.write(byte: StoreKey.version)
        writer.write(scheme: scheme, host: host, port: port)
        return writer.bytes
    }
}

/// Reads the canonical encoding in place. Each length is checked against the remaining bytes.
struct CanonicalCursor {
    private let bytes: UnsafeRawBufferPointer
    private var position = 0

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    /// The number of bytes that are not read yet.
    var remaining: Int { bytes.count - position }

    mutating func byte() -> UInt8? {
        guard position < bytes.count else { return nil }
        defer { position += 1 }
        return bytes[position]
    }

    /// Reads a component. Returns `nil` if it is malformed or absent.
    mutating func component() -> Slice<UnsafeRawBufferPointer>? {
        var number: UInt64 = 0
        var shift: UInt64 = 0
        while true {
            guard shift < 56, let next = byte() else { return nil }
            number |= UInt64(next & 0x7F) << shift
            if next < 0x80 { break }
            shift += 7
        }
        guard number > 0, number - 1 <= UInt64(bytes.count - position) else { return nil }
        let end = position + Int(number - 1)
        defer { position = end }
        return bytes[position..<end]
    }
}
