extension String {
    /// Percent-encoded as one segment of a path: an id from outside may hold a slash or a question mark. RFC 3986 §3.3
    var pathSegment: String {
        utf8.reduce(into: "") { segment, octet in
            switch octet {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                segment.unicodeScalars.append(Unicode.Scalar(octet))
            default:
                segment += octet < 16 ? "%0" : "%"
                segment += String(octet, radix: 16, uppercase: true)
            }
        }
    }
}
