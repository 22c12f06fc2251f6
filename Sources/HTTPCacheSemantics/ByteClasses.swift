/// The byte classes of RFC 3986 and RFC 9110. Everything in this module works on bytes, never on
/// `Character`s.
extension UInt8 {
    var isDigit: Bool { self &- 0x30 < 10 }
    var isAlpha: Bool { (self | 0x20) &- 0x61 < 26 }
    var isHexDigit: Bool { isDigit || (self | 0x20) &- 0x61 < 6 }
    /// A space or a horizontal tab (`OWS`). RFC 9110 §5.6.3
    var isWhitespace: Bool { self == 0x20 || self == 0x09 }
    /// C0 controls and DEL.
    var isControl: Bool { self < 0x20 || self == 0x7F }
    /// Visible ASCII (`VCHAR`).
    var isVisible: Bool { self > 0x20 && self < 0x7F }
    var asciiLowercased: UInt8 { self &- 0x41 < 26 ? self | 0x20 : self }

    /// The value of a hexadecimal digit.
    var hexValue: UInt8? {
        if isDigit { return self &- 0x30 }
        let letter = (self | 0x20) &- 0x61
        return letter < 6 ? letter &+ 10 : nil
    }

    /// `unreserved` in RFC 3986 §2.3.
    var isUnreserved: Bool {
        if isAlpha || isDigit { return true }
        switch self {
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"): return true
        default: return false
        }
    }

    /// A slash, or `pchar` in RFC 3986 §3.3 without percent-encoding.
    var isPathByte: Bool {
        if isAlpha || isDigit { return true }
        switch self {
        // - . _ ~ / : @ and the sub-delims ! $ & ' ( ) * + , ; =
        case 0x2D, 0x2E, 0x5F, 0x7E, 0x2F, 0x3A, 0x40: return true
        case 0x21, 0x24, 0x26...0x2C, 0x3B, 0x3D: return true
        default: return false
        }
    }

    /// A byte that RFC 3986 §3.4 allows in a query.
    var isQueryByte: Bool { isPathByte || self == UInt8(ascii: "?") }

    /// `tchar` in RFC 9110 §5.6.2.
    var isTokenByte: Bool {
        if isAlpha || isDigit { return true }
        switch self {
        case 0x21, 0x23, 0x24, 0x25, 0x26, 0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x5E, 0x5F, 0x60, 0x7C, 0x7E: return true
        default: return false
        }
    }
}

/// Returns the upper-case hexadecimal digit, which RFC 3986 §2.1 asks producers to write.
func hexDigit(_ value: UInt8) -> UInt8 {
    let nibble = value & 0x0F
    return nibble < 10 ? 0x30 &+ nibble : 0x37 &+ nibble
}
