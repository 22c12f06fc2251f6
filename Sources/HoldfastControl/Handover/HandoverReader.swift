/// Reads the content of a message. Each function returns `nil` if the bytes end too early.
struct HandoverReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func byte() -> UInt8? { rest.popFirst() }

    /// Reads 16 bits.
    mutating func number() -> UInt16? {
        guard let high = byte(), let low = byte() else { return nil }
        return UInt16(truncatingIfNeeded: high) << 8 | UInt16(truncatingIfNeeded: low)
    }

    /// Reads 32 bits.
    mutating func longNumber() -> UInt32? {
        guard let high = number(), let low = number() else { return nil }
        return UInt32(truncatingIfNeeded: high) << 16 | UInt32(truncatingIfNeeded: low)
    }

    /// Reads UTF-8.
    mutating func text(_ length: Int) -> String? {
        guard length <= rest.count else { return nil }
        defer { rest = rest.dropFirst(length) }
        return String(validating: rest.prefix(length), as: UTF8.self)
    }

    /// Reads an address with its length.
    mutating func address() -> String? {
        guard let length = byte(), length > 0 else { return nil }
        return text(Int(clamping: length))
    }
}

extension HandoverOffer {
    /// The maximum number of listeners, as in a configuration.
    static let listenerLimit = 16
    /// The maximum number of addresses of a control plane.
    static let freedLimit = 4

    init?(_ reader: inout HandoverReader) {
        guard let time = reader.longNumber(), let count = reader.byte(), count > 0, count <= Self.listenerLimit
        else { return nil }
        var listeners: [Listener] = []
        for _ in 0..<count {
            guard let configured = reader.address(), let address = reader.address(),
                let sockets = reader.number(), sockets > 0, let lock = reader.byte(), lock <= 1
            else { return nil }
            let hasLock = lock == 1
            listeners.append(
                Listener(configured: configured, address: address, socketCount: sockets, hasLock: hasLock)
            )
        }
        guard let freedCount = reader.byte(), freedCount <= Self.freedLimit else { return nil }
        var freed: [String] = []
        for _ in 0..<freedCount {
            guard let address = reader.address() else { return nil }
            freed.append(address)
        }
        self.init(listeners: listeners, freed: freed, drainMilliseconds: time)
        guard descriptorCount <= HandoverLimits.sockets else { return nil }
    }

    /// The content of the message; `nil` if the offer exceeds a limit.
    var bytes: [UInt8]? {
        guard let count = UInt8(exactly: listeners.count), count > 0, count <= Self.listenerLimit,
            let freedCount = UInt8(exactly: freed.count), freedCount <= Self.freedLimit,
            descriptorCount <= HandoverLimits.sockets
        else { return nil }
        var result = Self.bytes(UInt16(truncatingIfNeeded: drainMilliseconds >> 16))
        result += Self.bytes(UInt16(truncatingIfNeeded: drainMilliseconds))
        result.append(count)
        for listener in listeners {
            guard let configured = Self.bytes(listener.configured), let address = Self.bytes(listener.address)
            else { return nil }
            result += configured + address + Self.bytes(listener.socketCount) + [listener.hasLock ? 1 : 0]
        }
        result.append(freedCount)
        for address in freed {
            guard let address = Self.bytes(address) else { return nil }
            result += address
        }
        return result
    }

    private static func bytes(_ number: UInt16) -> [UInt8] {
        [UInt8(truncatingIfNeeded: number >> 8), UInt8(truncatingIfNeeded: number)]
    }

    private static func bytes(_ address: String) -> [UInt8]? {
        UInt8(exactly: address.utf8.count).map { [$0] + Array(address.utf8) }
    }
}
