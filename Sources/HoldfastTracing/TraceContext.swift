import HTTPCacheSemantics

/// The ID of a trace: 16 bytes, not all zero.
package struct TraceID: Sendable, Hashable, CustomStringConvertible {
    /// The first eight bytes.
    package let high: UInt64
    /// The last eight bytes.
    package let low: UInt64

    /// - Returns: `nil` if all bytes are zero.
    package init?(high: UInt64, low: UInt64) {
        guard high != 0 || low != 0 else { return nil }
        self.high = high
        self.low = low
    }

    /// The ID as 32 hexadecimal digits.
    package var description: String { high.hexadecimalDigits + low.hexadecimalDigits }

    /// Returns a new random ID.
    static func random() -> TraceID {
        while true {
            if let id = TraceID(high: .random(in: .min ... .max), low: .random(in: .min ... .max)) { return id }
        }
    }
}

/// A span's context as it crosses the network: the span, and the information about its trace that
/// other processes need. W3C Trace Context
package struct TraceContext: Sendable, Hashable {
    /// The trace.
    package let traceID: TraceID
    /// The ID of the span; not zero.
    package let spanID: UInt64
    /// Whether the trace is sampled, so that the span may be recorded.
    package let isSampled: Bool
    /// The value of `tracestate`; empty if there is none.
    package var state: String
    /// Whether the span was created by another process.
    package var isRemote = false

    /// Creates a context with these IDs.
    package init(traceID: TraceID, spanID: UInt64, isSampled: Bool, state: String = "") {
        self.traceID = traceID
        self.spanID = spanID
        self.isSampled = isSampled
        self.state = state
    }
}

extension TraceContext {
    private static let dash = UInt8(ascii: "-")

    /// Parses a `traceparent`. W3C Trace Context §3.2
    ///
    /// For versions after 00, only the fields of version 00 are read. Later fields are ignored.
    ///
    /// - Returns: `nil` if it is invalid.
    package init?(traceparent text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count >= 55, bytes[2] == Self.dash, bytes[35] == Self.dash, bytes[52] == Self.dash,
            let version = Self.number(bytes[0..<2]), version != 0xff,
            version == 0 ? bytes.count == 55 : bytes.count == 55 || bytes[55] == Self.dash,
            let high = Self.number(bytes[3..<19]), let low = Self.number(bytes[19..<35]),
            let traceID = TraceID(high: high, low: low),
            let spanID = Self.number(bytes[36..<52]), spanID != 0,
            let flags = Self.number(bytes[53..<55])
        else { return nil }
        self.init(traceID: traceID, spanID: spanID, isSampled: flags & 1 == 1)
        isRemote = true
    }

    /// The value of `traceparent`, in version 00.
    package var traceparent: String {
        "00-\(traceID)-\(spanText)-\(isSampled ? "01" : "00")"
    }

    /// The span's ID as 16 hexadecimal digits.
    var spanText: String { spanID.hexadecimalDigits }

    /// Parses a number. Only lowercase hexadecimal digits are valid.
    private static func number(_ digits: ArraySlice<UInt8>) -> UInt64? {
        var number: UInt64 = 0
        for digit in digits {
            guard let value = digit.hexValue, digit == digit.asciiLowercased else { return nil }
            number = number << 4 | UInt64(value)
        }
        return number
    }
}

extension UInt64 {
    /// The number as 16 hexadecimal digits.
    fileprivate var hexadecimalDigits: String {
        let text = String(self, radix: 16)
        return String(repeating: "0", count: 16 - text.count) + text
    }
}
