/// The byte classes of RFC 3986 and RFC 9110, for every module that reads bytes. This module never
/// reads `Character`s.
extension UInt8 {
    @inlinable package var isDigit: Bool { self &- 0x30 < 10 }
    @inlinable package var isAlpha: Bool { (self | 0x20) &- 0x61 < 26 }
    @inlinable package var isLowercase: Bool { self &- 0x61 < 26 }
    @inlinable package var isAlphanumeric: Bool { isAlpha || isDigit }
    @inlinable package var isHexDigit: Bool { isDigit || (self | 0x20) &- 0x61 < 6 }
    /// A space or a horizontal tab (`OWS`). RFC 9110 §5.6.3
    @inlinable package var isWhitespace: Bool { self == 0x20 || self == 0x09 }
    /// C0 controls and DEL.
    @inlinable package var isControl: Bool { self < 0x20 || self == 0x7F }
    /// Visible ASCII (`VCHAR`).
    @inlinable package var isVisible: Bool { self > 0x20 && self < 0x7F }
    @inlinable package var asciiLowercased: UInt8 { self &- 0x41 < 26 ? self | 0x20 : self }

    /// The value of a hexadecimal digit.
    @inlinable package var hexValue: UInt8? {
        if isDigit { return self &- 0x30 }
        let letter = (self | 0x20) &- 0x61
        return letter < 6 ? letter &+ 10 : nil
    }

    /// The hexadecimal digit of the low four bits, in upper case, which RFC 3986 §2.1 asks
    /// producers to write.
    @inlinable package var hexDigit: UInt8 {
        let nibble = self & 0x0F
        return nibble < 10 ? 0x30 &+ nibble : 0x37 &+ nibble
    }

    /// A letter, a digit, or one of `-._`, as in the names of hosts, nodes and requests.
    @inlinable package var isNameByte: Bool { isAlphanumeric || self == 0x2D || self == 0x2E || self == 0x5F }

    /// `unreserved` in RFC 3986 §2.3.
    @inlinable package var isUnreserved: Bool { isNameByte || self == UInt8(ascii: "~") }

    /// A slash, or `pchar` in RFC 3986 §3.3 without percent-encoding.
    @inlinable package var isPathByte: Bool {
        if isAlphanumeric { return true }
        switch self {
        // - . _ ~ / : @ and the sub-delims ! $ & ' ( ) * + , ; =
        case 0x2D, 0x2E, 0x5F, 0x7E, 0x2F, 0x3A, 0x40: return true
        case 0x21, 0x24, 0x26...0x2C, 0x3B, 0x3D: return true
        default: return false
        }
    }

    /// A byte that RFC 3986 §3.4 allows in a query.
    @inlinable package var isQueryByte: Bool { isPathByte || self == UInt8(ascii: "?") }

    /// `tchar` in RFC 9110 §5.6.2.
    @inlinable package var isTokenByte: Bool {
        if isAlphanumeric { return true }
        switch self {
        case 0x21, 0x23, 0x24, 0x25, 0x26, 0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x5E, 0x5F, 0x60, 0x7C, 0x7E: return true
        default: return false
        }
    }

    /// A byte that a field value and a reason phrase may contain: visible ASCII, `obs-text`, space
    /// and tab. RFC 9110 §5.5
    @inlinable package var isFieldValueByte: Bool { self >= 0x20 && self != 0x7F || self == 0x09 }
}

extension BidirectionalCollection<UInt8> {
    /// Returns the bytes without the optional whitespace at both ends. RFC 9110 §5.6.3
    @inlinable package func trimmingWhitespace() -> SubSequence {
        var rest = self[...]
        while let first = rest.first, first.isWhitespace { rest = rest.dropFirst() }
        while let last = rest.last, last.isWhitespace { rest = rest.dropLast() }
        return rest
    }
}
