import HTTPCacheSemantics
import NIOCore

/// Writes the bytes of a log line without Foundation, because a line per request must be cheap.
extension ByteBuffer {
    /// How bytes other than printable ASCII, and quotes and backslashes, are escaped.
    enum LogEscape {
        /// `\xE4`, as nginx does.
        case hexadecimal
        /// `\u00E4` of RFC 8259 §7.
        case json
    }

    /// Marks the end of a text that was cut.
    static let cutMark = "..."

    /// Writes a text so that it can end neither the line nor the quotes around it.
    ///
    /// - Parameter limit: the maximum number of bytes to write, including ``cutMark`` if the text
    ///   is cut.
    mutating func writeLogText(_ text: some StringProtocol, limit: Int, _ escape: LogEscape, plain: Bool = false) {
        let start = writerIndex
        // Almost every text is short and needs no escape.
        let isWritten = text.utf8.withContiguousStorageIfAvailable { bytes in
            guard bytes.count <= limit, bytes.allSatisfy({ $0.isPlainInLog && !(plain && $0 == 0x20) }) else {
                return false
            }
            writeBytes(bytes)
            return true
        }
        if isWritten == true { return }
        // The last position where the mark still fits.
        var end = start
        for scalar in text.unicodeScalars {
            writeEscaped(scalar, escape, plain: plain)
            if writerIndex - start > limit {
                moveWriterIndex(to: end)
                writeStaticString("...")
                return
            }
            if writerIndex - start <= limit - Self.cutMark.utf8.count { end = writerIndex }
        }
    }

    private mutating func writeEscaped(_ scalar: Unicode.Scalar, _ escape: LogEscape, plain: Bool) {
        if scalar.isASCII, UInt8(scalar.value).isPlainInLog, !(plain && scalar == " ") {
            writeInteger(UInt8(scalar.value))
            return
        }
        switch escape {
        case .hexadecimal:
            for byte in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter {
                writeStaticString("\\x")
                writeHexadecimal(UInt64(byte), digits: 2)
            }
        case .json:
            for unit in UTF16.encode(scalar) ?? UTF16.encodedReplacementCharacter {
                writeStaticString("\\u")
                writeHexadecimal(UInt64(unit), digits: 4)
            }
        }
    }

    mutating func writeHexadecimal(_ value: UInt64, digits: Int) {
        for place in (0..<digits).reversed() {
            writeInteger(UInt8(truncatingIfNeeded: value >> (4 * UInt64(place))).hexDigit)
        }
    }

    /// Writes a number with a minimum number of digits, some of them after a decimal point.
    mutating func writeDecimal(_ value: Int64, digits: Int = 1, decimals: Int = 0) {
        // 19 digits, a point and a sign. No caller needs more.
        let room = 32
        writeWithUnsafeMutableBytes(minimumWritableBytes: room) { text in
            // Writes from the last digit to the first, from the end of the buffer.
            var start = room
            var rest = value.magnitude
            var count = 0
            repeat {
                if count == decimals, decimals > 0 {
                    start -= 1
                    text[start] = UInt8(ascii: ".")
                }
                start -= 1
                text[start] = UInt8(truncatingIfNeeded: rest % 10) + UInt8(ascii: "0")
                rest /= 10
                count += 1
            } while rest > 0 || count < digits
            if value < 0 {
                start -= 1
                text[start] = UInt8(ascii: "-")
            }
            let written = room - start
            for index in 0..<written { text[index] = text[start + index] }
            return written
        }
    }

    /// Writes seconds with six decimals.
    mutating func writeSeconds(_ duration: TimeAmount) {
        let microseconds = max(duration.nanoseconds, 0) / 1000
        writeDecimal(microseconds, digits: 7, decimals: 6)
    }

    /// Writes a path and its query.
    mutating func writeTarget(_ target: String, _ limits: (path: Int, query: Int), _ escape: LogEscape, _ full: Bool) {
        guard let question = target.utf8.firstIndex(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") })
        else { return writeLogText(target, limit: limits.path, escape, plain: escape == .hexadecimal) }
        writeLogText(target[..<question], limit: limits.path, escape, plain: escape == .hexadecimal)
        writeInteger(target.utf8[question])
        let query = target[target.utf8.index(after: question)...]
        if full { return writeLogText(query, limit: limits.query, escape, plain: escape == .hexadecimal) }
        let hidden = Redaction.valuesHidden(in: query.utf8.prefix(limits.query + 1))
        writeLogText(hidden, limit: limits.query, escape, plain: escape == .hexadecimal)
    }
}

extension UInt8 {
    /// Printable ASCII without quotes and backslashes.
    fileprivate var isPlainInLog: Bool {
        self >= 0x20 && self < 0x7F && self != UInt8(ascii: "\"") && self != UInt8(ascii: "\\")
    }
}
