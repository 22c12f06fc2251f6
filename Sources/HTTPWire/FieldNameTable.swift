import HTTPCacheSemantics
package import HTTPTypes

/// Creates field names from bytes. The most common names are created in advance, because a lookup
/// costs less than checking a name and folding its case.
package enum FieldNameTable {
    /// The maximum length of a name that is looked up, in bytes. Swift stores strings up to this
    /// size inline, so copying them needs no reference counting.
    private static let limit = 15

    private struct Entry {
        var bytes: Packed
        var name: HTTPField.Name
    }

    /// At most 15 bytes and their number, as one comparable value.
    private struct Packed: Hashable {
        var low: UInt64 = 0
        var high: UInt64 = 0

        init(_ bytes: some Collection<UInt8>) {
            var shift: UInt64 = 0
            for byte in bytes {
                if shift < 64 { low |= UInt64(byte) << shift } else { high |= UInt64(byte) << (shift - 64) }
                shift += 8
            }
            high |= shift << 53
        }

        /// The first index to check, out of 256.
        var place: Int { Int((low &* 0x9E37_79B9_7F4A_7C15 ^ high &* 0xC2B2_AE3D_27D4_EB4F) >> 56) }
    }

    /// Each name is stored as written in HTTP/1, and in lowercase, as in HTTP/2.
    private static let common = [
        "Accept", "Accept-Charset", "Accept-Encoding", "Accept-Language", "Accept-Ranges", "Age", "Allow", "Alt-Svc",
        "Authorization", "Cache-Control", "Cache-Status", "Connection", "Content-Length", "Content-Range",
        "Content-Type", "Cookie", "DNT", "Date", "ETag", "Expect", "Expires", "Forwarded", "Host", "If-Match",
        "If-None-Match", "If-Range", "Keep-Alive", "Last-Modified", "Link", "Location", "Max-Forwards", "Origin",
        "Pragma",
        "Priority", "Range", "Referer", "Retry-After", "Sec-Fetch-Dest", "Sec-Fetch-Mode", "Sec-Fetch-Site",
        "Sec-Fetch-User", "Server", "Server-Timing", "Set-Cookie", "TE", "Traceparent", "Trailer", "Upgrade",
        "User-Agent", "Vary", "Via", "X-Cache", "X-Forwarded-For", "X-Powered-By", "X-Request-ID", "X-Request-Id",
    ]

    /// Not an array, because each lookup would then count references. Safe: the memory is filled
    /// before any code can read it, never changed, and never freed.
    nonisolated(unsafe) private static let entries: UnsafePointer<Entry?> = {
        let entries = UnsafeMutablePointer<Entry?>.allocate(capacity: 256)
        entries.initialize(repeating: nil, count: 256)
        for text in common.flatMap({ [$0, $0.lowercased()] }) where text.utf8.count <= limit {
            guard let name = HTTPField.Name(text) else { continue }
            let bytes = Packed(text.utf8)
            var place = bytes.place
            while let entry = entries[place], entry.bytes != bytes { place = (place + 1) & 255 }
            entries[place] = Entry(bytes: bytes, name: name)
        }
        return UnsafePointer(entries)
    }()

    /// Returns the field name in the given bytes; `nil` if they are not a token. RFC 9110 §5.1
    package static func name(_ bytes: UnsafeRawBufferPointer) -> HTTPField.Name? {
        if bytes.count <= limit {
            let packed = Packed(bytes)
            var place = packed.place
            while let entry = entries[place] {
                if entry.bytes == packed { return entry.name }
                place = (place + 1) & 255
            }
        }
        guard bytes.allSatisfy(\.isTokenByte) else { return nil }
        return HTTPField.Name(String(decoding: bytes, as: UTF8.self))
    }
}
