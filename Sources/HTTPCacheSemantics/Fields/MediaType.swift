extension String {
    /// The type and subtype in a `Content-Type`, in lower case and without parameters; empty if
    /// there is none. RFC 9110 §8.3.1
    ///
    /// Whitespace ends the type like a semicolon, because some servers omit the semicolon.
    package var mediaType: String {
        let type = utf8.drop(while: \.isWhitespace).prefix { $0 != UInt8(ascii: ";") && !$0.isWhitespace }
        return String(decoding: type, as: UTF8.self).lowercased()
    }
}
