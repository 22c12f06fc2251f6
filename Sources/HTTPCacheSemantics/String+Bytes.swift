extension String {
    /// Whether both are the same bytes of UTF-8.
    ///
    /// `==` compares characters: it treats an `é` of one scalar and one of two as equal. Keys, tags
    /// and names are compared by their bytes, as the store's database does.
    package func hasSameBytes(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}

extension Optional<String> {
    /// Whether both are the same bytes of UTF-8, or both are `nil`.
    package func hasSameBytes(as other: String?) -> Bool {
        switch (self, other) {
        case (let one?, let another?): one.hasSameBytes(as: another)
        case (nil, nil): true
        case (nil, _?), (_?, nil): false
        }
    }
}

extension [String] {
    /// Whether one of them is the same bytes of UTF-8.
    package func containsBytes(of text: String) -> Bool { contains { $0.hasSameBytes(as: text) } }

    /// Whether both are the same texts in the same order, byte by byte.
    package func haveSameBytes(as others: [String]) -> Bool {
        elementsEqual(others) { $0.hasSameBytes(as: $1) }
    }
}

extension Hasher {
    /// Adds the text's bytes, so that texts with the same bytes have the same hash.
    package mutating func combine(bytesOf text: String) {
        var text = text
        text.withUTF8 { bytes in
            combine(bytes.count)
            combine(bytes: UnsafeRawBufferPointer(bytes))
        }
    }
}
