import HTTPTypes

/// Field names as they are mostly spelt, made once: making one checks and lower-cases it, which costs more than reading the field.
enum KnownFieldNames {
    /// The name that some octets spell; `nil` where they spell none.
    static func name(_ octets: UnsafeRawBufferPointer) -> HTTPField.Name? {
        if let index = table.index(of: octets) { return table.names[index] }
        return HTTPField.Name(String(decoding: octets, as: UTF8.self))
    }

    /// Whether some octets spell a name.
    static func isName(_ octets: UnsafeRawBufferPointer) -> Bool {
        table.index(of: octets) != nil || HTTPField.Name(String(decoding: octets, as: UTF8.self)) != nil
    }

    /// Found by octets: no text is made of what is looked for.
    private struct Table: Sendable {
        private static let slotCount = 1024

        private(set) var names: [HTTPField.Name] = []
        private var spellings: [[UInt8]] = []
        /// The number of a name plus one, at or after the place that its octets give; 0 where there is none.
        private var slots = [UInt8](repeating: 0, count: slotCount)

        /// - Parameter names: fewer than 128, each in the table as it is and in lower case.
        init(_ names: [String]) {
            for rawName in names + names.map({ $0.lowercased() }) {
                let spelling = Array(rawName.utf8)
                guard let name = HTTPField.Name(rawName), !spellings.contains(spelling) else { continue }
                var slot = spelling.withUnsafeBytes(Self.slot)
                while slots[slot] != 0 { slot = (slot + 1) % Self.slotCount }
                self.names.append(name)
                spellings.append(spelling)
                slots[slot] = UInt8(spellings.count)
            }
        }

        func index(of octets: UnsafeRawBufferPointer) -> Int? {
            if octets.isEmpty { return nil }
            var slot = Self.slot(octets)
            while slots[slot] != 0 {
                let index = Int(slots[slot]) - 1
                if spellings[index].count == octets.count, octets.elementsEqual(spellings[index]) { return index }
                slot = (slot + 1) % Self.slotCount
            }
            return nil
        }

        private static func slot(_ octets: UnsafeRawBufferPointer) -> Int {
            let count = octets.count
            let letters = Int(octets[0]) &* 5 &+ Int(octets[count / 2]) &* 37 &+ Int(octets[count - 1]) &* 131
            return (letters &+ count &* 67) % slotCount
        }
    }

    private static let table = Table([
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
