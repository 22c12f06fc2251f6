/// Writes the canonical encoding: a component is its length plus one as a minimal base-128 number,
/// followed by its bytes. A single zero marks an absent component.
///
/// Absent and empty components therefore differ, and the bytes of a component cannot be mistaken
/// for the boundary between two components.
struct CanonicalWriter {
    private(set) var bytes: [UInt8] = []

    init(capacity: Int) {
        bytes.reserveCapacity(capacity)
    }

    mutating func write(byte: UInt8) { bytes.append(byte) }

    mutating func write(_ component: String?) {
        guard let component else { return bytes.append(0) }
        write(number: UInt64(component.utf8.count) + 1)
        bytes.append(contentsOf: component.utf8)
    }

    mutating func write(_ component: [UInt8]) {
        write(number: UInt64(component.count) + 1)
        bytes.append(contentsOf: component)
    }

    mutating func write(raw: ArraySlice<UInt8>) { bytes.append(contentsOf: raw) }

    /// Writes scheme, host, port (two bytes, big-endian), path and query.
    mutating func write(target: TargetURI) {
        write(scheme: target.scheme, host: target.host, port: target.port)
        write(target.path)
        write(target.query)
    }

    mutating func write(scheme: String, host: String, port: UInt16) {
        write(scheme)
        write(host)
        bytes.append(UInt8(truncatingIfNeeded: port >> 8))
        bytes.append(UInt8(truncatingIfNeeded: port))
    }

    private mutating func write(number: UInt64) {
        var rest = number
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }
}

/// Reads only the exact output of ``CanonicalWriter``: every `nil` below rejects a second spelling
/// of the same key.
struct CanonicalReader {
    private let bytes: [UInt8]
    private(set) var position = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { position == bytes.count }

    mutating func byte() -> UInt8? {
        guard position < bytes.count else { return nil }
        defer { position += 1 }
        return bytes[position]
    }

    /// Reads a component. Returns `.some(nil)` if it is absent, `nil` if it is malformed.
    mutating func component() -> ArraySlice<UInt8>?? {
        guard let number = number() else { return nil }
        guard number > 0 else { return .some(nil) }
        let length = number - 1
        guard length <= UInt64(bytes.count - position) else { return nil }
        let end = position + Int(length)
        defer { position = end }
        return bytes[position..<end]
    }

    mutating func required() -> ArraySlice<UInt8>? {
        guard let present = component() else { return nil }
        return present
    }

    /// Reads a component as text. Only valid UTF-8 is ever written, so anything else is rejected
    /// instead of repaired.
    mutating func text() -> String?? {
        guard let bytes = component() else { return nil }
        guard let bytes else { return .some(nil) }
        guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
        return text
    }

    mutating func requiredText() -> String? {
        guard let present = text() else { return nil }
        return present
    }

    /// Reads a target by the rules for requests, so that only keys that the encoder can produce
    /// decode.
    mutating func target() -> TargetURI? {
        guard let scheme = requiredText(), scheme == "http" || scheme == "https",
            let host = required(), let high = byte(), let low = byte(),
            let path = required(), let query = component()
        else { return nil }
        let port = UInt16(high) << 8 | UInt16(low)
        guard port > 0, path.first == UInt8(ascii: "/"), !path.contains(UInt8(ascii: "?")),
            TargetURI.mayStandInRequestLine(path), query.map(TargetURI.mayStandInRequestLine) ?? true,
            host.count + path.count + (query?.count ?? 0) <= TargetURI.maximumLength
        else { return nil }
        let authority = host.withUnsafeBufferPointer { Authority.parse($0[...], defaultPort: 0) }
        // The port is still 0 only if the host's bytes contain no port.
        guard case .success(let parsed) = authority, parsed.port == 0, parsed.host.utf8.elementsEqual(host) else {
            return nil
        }
        return TargetURI(
            scheme: scheme,
            host: parsed.host,
            port: port,
            path: String(decoding: path, as: UTF8.self),
            query: query.map { String(decoding: $0, as: UTF8.self) }
        )
    }

    private mutating func number() -> UInt64? {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while let next = byte() {
            value |= UInt64(next & 0x7F) << shift
            if next < 0x80 {
                // A last group of zero bits would be a longer encoding of the same number.
                return next == 0 && shift > 0 ? nil : value
            }
            shift += 7
            guard shift < 56 else { return nil }
        }
        return nil
    }
}
