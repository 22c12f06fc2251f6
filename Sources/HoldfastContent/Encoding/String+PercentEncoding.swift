import HTTPCacheSemantics

extension String {
    /// Returns the text with all bytes percent-encoded except unreserved characters. RFC 3986 §2.3
    package func percentEncoded(spaces: URLParameterEncoder.Spaces = .percent) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(utf8.count)
        for byte in utf8 {
            if byte.isUnreserved {
                bytes.append(byte)
            } else if byte == UInt8(ascii: " "), spaces == .plus {
                bytes.append(UInt8(ascii: "+"))
            } else {
                bytes += [UInt8(ascii: "%"), (byte >> 4).hexDigit, byte.hexDigit]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
