extension String {
    /// Returns whether both strings have the same UTF-8 bytes.
    ///
    /// `==` compares characters, so it treats the one-scalar and the two-scalar form of `é` as
    /// equal. Keys, tags and names are compared by bytes, as in the store's database.
    package func hasSameBytes(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}

extension Optional<String> {
    /// Returns whether both strings have the same UTF-8 bytes, or both are `nil`.
    package func hasSameBytes(as other: String?) -> Bool {
        switch (self, other) {
        case (let one?, let another?): one.hasSameBytes(as: another)
        case (nil, nil): true
        case (nil, _?), (_?, nil): false
        }
    }
}

extension [String] {
    /// Returns whether one of the strings has the same UTF-8 bytes.
    package func containsBytes(of text: String) -> Bool { contains { $0.hasSameBytes(as: text) } }

    /// Returns whether both arrays have the same strings in the same order, byte by byte.
    package func haveSameBytes(as others: [String]) -> Bool {
        elementsEqual(others) { $0.hasSameBytes(as: $1) }
    }
}

extension Hasher {
    /// Hashes the string's bytes, so that strings with the same bytes have the same hash.
    package mutating func combine(bytesOf text: String) {
        var text = text
        text.withUTF8 { bytes in
            combine(bytes.count)
            combine(bytes: UnsafeRawBufferPointer(bytes))
        }
    }
}
