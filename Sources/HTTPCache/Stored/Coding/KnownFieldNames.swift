import HTTPTypes
import LibC

/// The common spellings of field names, created once. Creating a name validates and lower-cases it,
/// which costs more than reading the field.
enum KnownFieldNames {
    /// Returns the name that the bytes spell; `nil` if they are not a valid name.
    static func name(_ bytes: UnsafeRawBufferPointer) -> HTTPField.Name? {
        if let index = table.index(of: bytes) { return table.names[index] }
        return HTTPField.Name(String(decoding: bytes, as: UTF8.self))
    }

    /// A table that is searched by bytes, so that a lookup creates no string.
    final class Table: Sendable {
        private static let slotCount = 1024

        let names: [HTTPField.Name]
        /// All names, concatenated.
        private let spellings: [UInt8]
        /// The offset of each name's first byte, followed by the end of the last name.
        private let starts: [Int]
        /// A hash table of name numbers plus one, with linear probing; 0 marks an empty slot.
        private let slots: [UInt8]

        /// - Parameter names: fewer than 128 names. Each is added both as given and in lower case.
        init(_ names: [String]) {
            var made: [HTTPField.Name] = []
            var seen: Set<String> = []
            var spellings: [UInt8] = []
            var starts = [0]
            var slots = [UInt8](repeating: 0, count: Self.slotCount)
            for rawName in names + names.map({ $0.lowercased() }) {
                guard let name = HTTPField.Name(rawName), seen.insert(rawName).inserted else { continue }
                var slot = Array(rawName.utf8).withUnsafeBytes(Self.slot)
                while slots[slot] != 0 { slot = (slot + 1) % Self.slotCount }
                made.append(name)
                spellings.append(contentsOf: rawName.utf8)
                starts.append(spellings.count)
                slots[slot] = UInt8(made.count)
            }
            (self.names, self.spellings, self.starts, self.slots) = (made, spellings, starts, slots)
        }

        /// Returns whether the bytes are a valid name.
        func isName(_ bytes: UnsafeRawBufferPointer) -> Bool {
            index(of: bytes) != nil || HTTPField.Name(String(decoding: bytes, as: UTF8.self)) != nil
        }

        func index(of bytes: UnsafeRawBufferPointer) -> Int? {
            guard let start = bytes.baseAddress, !bytes.isEmpty else { return nil }
            var slot = Self.slot(bytes)
            while slots[slot] != 0 {
                let index = Int(slots[slot]) - 1
                let count = starts[index + 1] - starts[index]
                if count == bytes.count {
                    let isSame = spellings.withUnsafeBytes { spellings in
                        spellings.baseAddress.map { memcmp($0 + starts[index], start, count) == 0 } ?? false
                    }
                    if isSame { return index }
                }
                slot = (slot + 1) % Self.slotCount
            }
            return nil
        }

        private static func slot(_ bytes: UnsafeRawBufferPointer) -> Int {
            let count = bytes.count
            let letters = Int(bytes[0]) &* 5 &+ Int(bytes[count / 2]) &* 37 &+ Int(bytes[count - 1]) &* 131
            return (letters &+ count &* 67) % slotCount
        }
    }

    static let table = Table([
        "Accept", "Accept-Encoding", "Accept-Language", "Accept-Ranges", "Access-Control-Allow-Credentials",
        "Access-Control-Allow-Headers", "Access-Control-Allow-Methods", "Access-Control-Allow-Origin",
        "Access-Control-Expose-Headers", "Access-Control-Max-Age", "Age", "Allow", "Alt-Svc", "Authorization",
        "Cache-Control", "CDN-Cache-Control", "Content-Disposition", "Content-Encoding", "Content-Language",
        "Content-Length", "Content-Location", "Content-Security-Policy", "Content-Type", "Cookie", "Date", "ETag",
        "Expires", "Last-Modified", "Link", "Location", "Origin", "Pragma", "Referrer-Policy", "Retry-After",
        "Server", "Set-Cookie", "Strict-Transport-Security", "Timing-Allow-Origin", "Vary", "Via", "X-Cache",
        "X-Content-Type-Options", "X-Frame-Options", "X-Powered-By", "X-Request-ID", "X-XSS-Protection",
    ])
}
