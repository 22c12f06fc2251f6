import HTTPCacheSemantics
import HTTPWire

/// The text before a position, which shows whether a URL begins there and where it ends.
struct TextBefore {
    /// The last bytes, the newest in the lowest byte; zeros before the start of the text.
    private var bytes: UInt64 = 0

    mutating func append(_ byte: UInt8) { bytes = bytes << 8 | UInt64(byte) }

    /// Returns one of the last eight bytes.
    private func byte(_ distance: UInt64) -> UInt8 { UInt8(truncatingIfNeeded: bytes >> (8 * distance)) }

    /// Whether `http` or `https` here is a complete scheme: it does not follow a letter, another
    /// scheme (`view-source:`), or the slash of another URL's path.
    ///
    /// `git+` may precede it, because git clients treat the URL after it as any other, with either
    /// scheme.
    var mayPrecedeScheme: Bool { hasGit ? isOutsideScheme(4) : isOutsideScheme(0) }

    private var hasGit: Bool {
        let letters = [byte(3), byte(2), byte(1)]
        return byte(0) == UInt8(ascii: "+") && letters.allSatisfy(\.isAlpha)
            && letters.map { $0 | 0x20 }.elementsEqual("git".utf8)
    }

    /// Whether a scheme can begin this many bytes before this position.
    private func isOutsideScheme(_ distance: UInt64) -> Bool {
        let last = byte(distance)
        if last == UInt8(ascii: ":") { return !byte(distance + 1).isSchemeByte }
        return !last.isSchemeByte && last != UInt8(ascii: "/")
    }

    /// Whether a reference without a scheme can begin here: in an attribute, a string, or `url(`.
    var opensReference: Bool { #""'=("#.utf8.contains(byte(0)) }

    /// Whether a URL here may be part of a sentence: it begins the text, or follows white space.
    ///
    /// After a quote, a bracket or a tag, it may be a complete value. In that case, a dot at its
    /// end belongs to the URL.
    var mayBeInSentence: Bool { byte(0) <= UInt8.space }

    /// The byte that ends a URL that begins here, although other URLs may contain it.
    var closer: UInt8? {
        switch byte(0) {
        case UInt8(ascii: "'"): UInt8(ascii: "'")
        case UInt8(ascii: "("): UInt8(ascii: ")")
        case UInt8(ascii: "["): UInt8(ascii: "]")
        default: nil
        }
    }
}

extension UInt8 {
    /// A byte of a scheme. RFC 3986 §3.1
    fileprivate var isSchemeByte: Bool { isAlphanumeric || "+-.".utf8.contains(self) }
}
