import HTTPCacheSemantics
import LibC

/// The header in which a proxy in front of the gateway names a connection's client: the PROXY
/// protocol, version 1 (a line) or 2 (binary).
///
/// It precedes all other bytes, including TLS. The result does not depend on how the bytes are
/// split.
package struct ProxyHeader: Hashable {
    /// An IP address and a port.
    package struct Endpoint: Hashable {
        /// The address as the system formats it, without brackets.
        package var address: String
        var port: UInt16
    }

    /// Both ends of the client's connection to the proxy.
    package struct Endpoints: Hashable {
        package var source: Endpoint
        var destination: Endpoint
    }

    /// The beginning of a connection.
    package enum Reading: Hashable {
        case needsMore
        case header(ProxyHeader)
        case refused(ProxyRefusal)
    }

    /// The client and the address that it connected to; `nil` if the proxy connects on its own
    /// behalf (`LOCAL`), does not know the addresses (`UNKNOWN`), or serves a Unix socket.
    package var endpoints: Endpoints?
    /// The length of the header in bytes. The client's bytes follow.
    package var length: Int

    /// The maximum number of bytes in a version 1 header, including its line end.
    static let lineLimit = 107
    /// The maximum number of bytes of addresses and extensions in a version 2 header.
    static let blockLimit = 4 << 10
    private static let signature: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A]
    private static let lineStart = Array("PROXY ".utf8)

    /// Reads the header at the start of a connection.
    ///
    /// - Parameter bytes: all bytes received so far.
    package static func read(_ bytes: UnsafeRawBufferPointer) -> Reading {
        do throws(ProxyRefusal) {
            let header =
                bytes.first == signature[0]
                ? try begins(bytes, with: signature) ? try block(bytes) : nil
                : try begins(bytes, with: lineStart) ? try line(bytes) : nil
            return header.map { .header($0) } ?? .needsMore
        } catch {
            return .refused(error)
        }
    }

    /// Checks that the bytes begin with a text.
    ///
    /// - Returns: `false` if more bytes are needed.
    private static func begins(_ bytes: UnsafeRawBufferPointer, with start: [UInt8]) throws(ProxyRefusal) -> Bool {
        guard zip(bytes, start).allSatisfy({ $0 == $1 }) else { throw .missing }
        return bytes.count >= start.count
    }

    // MARK: Version 1

    private static func line(_ bytes: UnsafeRawBufferPointer) throws(ProxyRefusal) -> ProxyHeader? {
        let carriageReturn = UInt8(ascii: "\r")
        guard let end = bytes.prefix(lineLimit - 1).firstIndex(where: { !(0x20...0x7E).contains($0) }) else {
            guard bytes.count < lineLimit else { throw .tooLong }
            return nil
        }
        guard bytes[end] == carriageReturn else { throw .malformed }
        guard bytes.count > end + 1 else { return nil }
        guard bytes[end + 1] == UInt8(ascii: "\n") else { throw .malformed }
        let text = String(decoding: UnsafeRawBufferPointer(rebasing: bytes[..<end]), as: UTF8.self)
        let parts = text.split(separator: " ", omittingEmptySubsequences: false).dropFirst().map { String($0) }
        let length = end + 2
        // The rest of such a line is ignored.
        if parts.first == "UNKNOWN" { return ProxyHeader(endpoints: nil, length: length) }
        guard parts.count == 5, parts[0] == "TCP4" || parts[0] == "TCP6",
            let source = endpoint(parts[1], parts[3], isLong: parts[0] == "TCP6"),
            let destination = endpoint(parts[2], parts[4], isLong: parts[0] == "TCP6")
        else { throw .malformed }
        return ProxyHeader(endpoints: Endpoints(source: source, destination: destination), length: length)
    }

    private static func endpoint(_ address: String, _ port: String, isLong: Bool) -> Endpoint? {
        guard port.utf8.allSatisfy(\.isDigit), port == "0" || !port.hasPrefix("0"),
            let number = UInt16(port)
        else { return nil }
        var bytes = [UInt8](repeating: 0, count: isLong ? 16 : 4)
        guard inet_pton(isLong ? AF_INET6 : AF_INET, address, &bytes) == 1 else { return nil }
        return text(bytes).map { Endpoint(address: $0, port: number) }
    }

    /// Returns an address as the system formats it, so that each address has only one form.
    private static func text(_ bytes: [UInt8]) -> String? {
        var text = [CChar](repeating: 0, count: 64)
        guard inet_ntop(bytes.count == 16 ? AF_INET6 : AF_INET, bytes, &text, .init(text.count)) != nil else {
            return nil
        }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    // MARK: Version 2

    private static let headLength = 16

    private static func block(_ bytes: UnsafeRawBufferPointer) throws(ProxyRefusal) -> ProxyHeader? {
        guard bytes.count > 12 else { return nil }
        let (version, command) = (bytes[12] >> 4, bytes[12] & 0xF)
        guard version == 2, command <= 1 else { throw .malformed }
        guard bytes.count >= headLength else { return nil }
        let length = number(bytes, at: 14)
        guard length <= blockLimit else { throw .tooLong }
        guard bytes.count >= headLength + length else { return nil }
        let whole = UnsafeRawBufferPointer(rebasing: bytes[..<(headLength + length)])
        // For LOCAL, and if no address family is stated, everything after the head is skipped.
        guard command == 1, whole[13] != 0 else { return ProxyHeader(endpoints: nil, length: whole.count) }
        let (endpoints, rest) = try addresses(whole)
        try checkExtensions(whole, from: rest)
        return ProxyHeader(endpoints: endpoints, length: whole.count)
    }

    /// Reads the addresses of a version 2 header.
    ///
    /// - Returns: the endpoints, and the offset of their end.
    private static func addresses(_ whole: UnsafeRawBufferPointer) throws(ProxyRefusal) -> (Endpoints?, Int) {
        let size: Int
        switch whole[13] {
        // TCP over IPv4, TCP over IPv6, and Unix sockets (stream or datagram), whose path does not
        // identify the client.
        case 0x11: size = 4
        case 0x21: size = 16
        case 0x31, 0x32: size = 108
        default: throw .malformed
        }
        let ports = headLength + 2 * size
        let end = size == 108 ? ports : ports + 4
        guard whole.count >= end else { throw .malformed }
        guard size < 108 else { return (nil, end) }
        func endpoint(_ number: Int) -> Endpoint? {
            let start = headLength + number * size
            let port = UInt16(self.number(whole, at: ports + 2 * number))
            return text(Array(whole[start..<(start + size)])).map { Endpoint(address: $0, port: port) }
        }
        guard let source = endpoint(0), let destination = endpoint(1) else { throw .malformed }
        return (Endpoints(source: source, destination: destination), end)
    }

    /// Skips the extensions (TLV), and verifies the checksum among them, if there is one.
    private static func checkExtensions(_ whole: UnsafeRawBufferPointer, from start: Int) throws(ProxyRefusal) {
        var place = start
        var checksum: Int?
        while place < whole.count {
            guard whole.count - place >= 3 else { throw .malformed }
            let (kind, length, value) = (whole[place], number(whole, at: place + 1), place + 3)
            guard length <= whole.count - value else { throw .malformed }
            if kind == checksumKind {
                guard length == 4, checksum == nil else { throw .malformed }
                checksum = value
            }
            place = value + length
        }
        guard let checksum else { return }
        let stated = (0..<4).reduce(UInt32(0)) { $0 << 8 | UInt32(whole[checksum + $1]) }
        guard stated == castagnoli(whole, skipping: checksum..<(checksum + 4)) else { throw .checksum }
    }

    /// The type of the checksum: `PP2_TYPE_CRC32C`
    private static let checksumKind: UInt8 = 0x03

    /// Returns the CRC-32C of the bytes, counting some of them as zeros. RFC 9260 appendix A
    static func castagnoli(_ bytes: UnsafeRawBufferPointer, skipping zeros: Range<Int>) -> UInt32 {
        var remainder = UInt32.max
        for (index, byte) in bytes.enumerated() {
            remainder ^= zeros.contains(index) ? 0 : UInt32(byte)
            for _ in 0..<8 { remainder = remainder & 1 == 0 ? remainder >> 1 : remainder >> 1 ^ 0x82F6_3B78 }
        }
        return ~remainder
    }

    /// Reads 16 bits in network order.
    private static func number(_ bytes: UnsafeRawBufferPointer, at place: Int) -> Int {
        Int(bytes[place]) << 8 | Int(bytes[place + 1])
    }
}
