/// The text before a place, as far as it tells whether a URL begins there and where that ends.
struct TextBefore {
    /// The last byte; 0 at the start of the text.
    private var last: UInt8 = 0

    mutating func append(_ byte: UInt8) { last = byte }

    /// Whether a scheme can begin here: it is no part of another scheme, and not behind the slash
    /// before a URL in the path of another one.
    var mayPrecedeScheme: Bool { !last.isAlpha && !last.isDigit && !"+-./".utf8.contains(last) }

    /// Whether a reference without a scheme can begin here: in an attribute, a string, or `url(`.
    var opensReference: Bool { #""'=("#.utf8.contains(last) }

    /// Whether a URL here may be one in a sentence: it begins the text, or follows white space.
    ///
    /// Behind a quote, a bracket or a tag it may as well be a whole value, and then a dot at its
    /// end is its own.
    var mayBeInSentence: Bool { last <= UInt8.space }

    /// The byte that ends a URL which begins here, although other URLs may have it.
    var closer: UInt8? {
        switch last {
        case UInt8(ascii: "'"): last
        case UInt8(ascii: "("): UInt8(ascii: ")")
        case UInt8(ascii: "["): UInt8(ascii: "]")
        default: nil
        }
    }
}
