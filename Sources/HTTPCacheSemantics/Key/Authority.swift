/// The host and port of an authority. RFC 3986 §3.2
struct Authority {
    var host: String
    var port: UInt16

    static func parse(
        _ bytes: Slice<UnsafeBufferPointer<UInt8>>,
        defaultPort: UInt16
    ) -> Result<Authority, TargetURI.Fault> {
        guard !bytes.contains(UInt8(ascii: "@")) else { return .failure(TargetURI.Fault(code: .userInformation)) }
        guard let first = bytes.first else { return .failure(TargetURI.Fault(code: .missingHost)) }
        let isBracketed = first == UInt8(ascii: "[")
        let hostEnd: Int
        if isBracketed {
            guard let bracket = bytes.firstIndex(of: UInt8(ascii: "]")) else {
                return .failure(TargetURI.Fault(code: .invalidHost))
            }
            hostEnd = bracket + 1
        } else {
            hostEnd = bytes.firstIndex(of: UInt8(ascii: ":")) ?? bytes.endIndex
        }
        let host = bytes[bytes.startIndex..<hostEnd]
        guard !host.isEmpty else { return .failure(TargetURI.Fault(code: .missingHost)) }
        guard isBracketed ? isIPv6(host.dropFirst().dropLast()) : isName(host) else {
            return .failure(TargetURI.Fault(code: .invalidHost))
        }
        guard let port = port(bytes[hostEnd...], default: defaultPort) else {
            return .failure(TargetURI.Fault(code: .invalidPort))
        }
        let text = String(unsafeUninitializedCapacity: host.count) { buffer in
            for (offset, byte) in host.enumerated() { buffer[offset] = byte.asciiLowercased }
            return host.count
        }
        return .success(Authority(host: text, port: port))
    }

    /// Returns whether the bytes are a registered name or an IPv4 address.
    ///
    /// This is narrower than `reg-name` in RFC 3986: percent-encoding and sub-delims are rejected,
    /// because DNS names never contain them and programs interpret them differently.
    private static func isName(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        bytes.count <= 255 && bytes.allSatisfy(\.isUnreserved)
    }

    /// Reads an empty string, or `:` and an optional number. RFC 3986 §3.2.3 makes the number
    /// optional.
    private static func port(_ bytes: Slice<UnsafeBufferPointer<UInt8>>, default standard: UInt16) -> UInt16? {
        guard let colon = bytes.first else { return standard }
        guard colon == UInt8(ascii: ":") else { return nil }
        let digits = bytes.dropFirst()
        if digits.isEmpty { return standard }
        var value = 0
        for digit in digits {
            guard digit.isDigit else { return nil }
            value = value * 10 + Int(digit &- 0x30)
            guard value <= 65_535 else { return nil }
        }
        return value == 0 ? nil : UInt16(value)
    }

    /// Returns whether the bytes are an `IPv6address` (RFC 3986 §3.2.2), without a zone.
    /// `IPvFuture` is rejected.
    private static func isIPv6(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        guard bytes.count >= 2, bytes.count <= 45 else { return false }
        var groups = 0
        var digits = 0
        var hasGap = false
        var index = bytes.startIndex
        while index < bytes.endIndex {
            let byte = bytes[index]
            if byte.isHexDigit {
                digits += 1
                guard digits <= 4 else { return false }
                index += 1
            } else if byte == UInt8(ascii: ":") {
                let isDouble = index + 1 < bytes.endIndex && bytes[index + 1] == UInt8(ascii: ":")
                if isDouble {
                    guard !hasGap else { return false }
                    hasGap = true
                } else {
                    // A single colon separates two groups.
                    guard digits > 0, index + 1 < bytes.endIndex else { return false }
                }
                if digits > 0 { groups += 1 }
                digits = 0
                index += isDouble ? 2 : 1
            } else if byte == UInt8(ascii: "."), digits > 0 {
                // The last 32 bits may be written as an IPv4 address.
                guard isIPv4(bytes[(index - digits)...]) else { return false }
                groups += 2
                return hasGap ? groups <= 7 : groups == 8
            } else {
                return false
            }
        }
        if digits > 0 { groups += 1 }
        return hasGap ? groups <= 7 : groups == 8
    }

    private static func isIPv4(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        var parts = 0
        var value = 0
        var digits = 0
        for byte in bytes {
            if byte.isDigit {
                value = value * 10 + Int(byte &- 0x30)
                digits += 1
                guard digits <= 3, value <= 255 else { return false }
            } else {
                guard byte == UInt8(ascii: "."), digits > 0 else { return false }
                parts += 1
                value = 0
                digits = 0
            }
        }
        return parts == 3 && digits > 0
    }
}
