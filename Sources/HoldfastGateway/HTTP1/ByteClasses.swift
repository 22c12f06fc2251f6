/// The byte classes of RFC 9110 for a message's head.
extension UInt8 {
    static let horizontalTab = UInt8(0x09)
    static let lineFeed = UInt8(0x0A)
    static let carriageReturn = UInt8(0x0D)
    static let space = UInt8(0x20)

    var isDigit: Bool { self &- 0x30 < 10 }
    var isAlpha: Bool { (self | 0x20) &- 0x61 < 26 }
    /// A space or a horizontal tab: `OWS` of RFC 9110 §5.6.3.
    var isWhitespace: Bool { self == .space || self == .horizontalTab }
    /// `VCHAR`: visible ASCII.
    var isVisible: Bool { self > 0x20 && self < 0x7F }
    /// A byte that a field value and a reason phrase may contain: visible ASCII, `obs-text`, space
    /// and tab. RFC 9110 §5.5
    var isFieldValueByte: Bool { self >= 0x20 && self != 0x7F || self == .horizontalTab }

    /// `tchar` of RFC 9110 §5.6.2.
    var isTokenByte: Bool {
        if isAlpha || isDigit { return true }
        switch self {
        case 0x21, 0x23, 0x24, 0x25, 0x26, 0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x5E, 0x5F, 0x60, 0x7C, 0x7E: return true
        default: return false
        }
    }

    /// The value of a hexadecimal digit.
    var hexValue: UInt8? {
        if isDigit { return self &- 0x30 }
        let letter = (self | 0x20) &- 0x61
        return letter < 6 ? letter &+ 10 : nil
    }
}

extension Collection<UInt8> {
    /// Returns the bytes without the optional whitespace at both ends. RFC 9110 §5.6.3
    func trimmingWhitespace() -> SubSequence where Self: BidirectionalCollection {
        var rest = self[...]
        while let first = rest.first, first.isWhitespace { rest = rest.dropFirst() }
        while let last = rest.last, last.isWhitespace { rest = rest.dropLast() }
        return rest
    }
}
