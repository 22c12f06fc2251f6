#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Finds where in JSON text a value stands. RFC 8259
///
/// It is for text that a decoder has read already, so it looks at structure alone: it takes
/// malformed text for a value that is not there, or for one that a decoder refuses later.
struct JSONPlaces {
    private let bytes: [UInt8]
    /// It says what a name is, because it may convert names.
    private let decoder: any ResponseDecoder
    private var position = 0

    init(data: Data, decoder: any ResponseDecoder) {
        bytes = Array(data)
        self.decoder = decoder
    }

    /// The bytes of the value at a path, without the space around it; `nil` where there is none, or
    /// an object has its name twice.
    consuming func range(of path: ValuePath) -> Range<Int>? {
        var places = self
        for step in path.steps {
            places.skipSpace()
            let isThere: Bool
            switch (places.current, step) {
            case (UInt8(ascii: "["), .index(let index)): isThere = places.enterElement(index)
            case (UInt8(ascii: "{"), .index(let index)): isThere = places.enterMember(String(index))
            case (UInt8(ascii: "{"), .name(let name)): isThere = places.enterMember(name)
            default: isThere = false
            }
            guard isThere else { return nil }
        }
        places.skipSpace()
        let start = places.position
        return places.skipValue() ? start..<places.position : nil
    }

    private var current: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func skipSpace() {
        while let byte = current, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { position += 1 }
    }

    /// Skips a character of the structure, and the space before it.
    private mutating func skip(_ character: Unicode.Scalar) -> Bool {
        skipSpace()
        guard current == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    private mutating func enterElement(_ index: Int) -> Bool {
        guard index >= 0, skip("[") else { return false }
        for _ in 0..<index {
            guard skipValue(), skip(",") else { return false }
        }
        skipSpace()
        return current.map { $0 != UInt8(ascii: "]") } ?? false
    }

    private mutating func enterMember(_ name: String) -> Bool {
        guard skip("{") else { return false }
        var start: Int?
        repeat {
            skipSpace()
            let begin = position
            guard skipString() else { break }
            let isNamed = self.name(bytes[begin..<position], is: name)
            guard skip(":") else { return false }
            if isNamed {
                // Which of them a decoder takes is not known.
                if start != nil { return false }
                start = position
            }
            guard skipValue() else { return false }
        } while skip(",")
        guard let start else { return false }
        position = start
        return true
    }

    /// Whether a name, with its quotes, is what the decoder shows under another.
    private func name(_ literal: ArraySlice<UInt8>, is name: String) -> Bool {
        if literal.dropFirst().dropLast().elementsEqual(name.utf8) { return true }
        let object = Data("{".utf8) + Data(literal) + Data(":0}".utf8)
        return (try? decoder.decode(ShownName.self, from: object))?.name == name
    }

    private mutating func skipString() -> Bool {
        guard skip("\"") else { return false }
        while let byte = current {
            position += byte == UInt8(ascii: "\\") ? 2 : 1
            if byte == UInt8(ascii: "\"") { return true }
        }
        return false
    }

    /// Skips a value of whatever kind, and the space before it. Not recursive: text may be deep.
    private mutating func skipValue() -> Bool {
        var depth = 0
        repeat {
            skipSpace()
            switch current {
            case UInt8(ascii: "\""): guard skipString() else { return false }
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                position += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                guard depth > 0 else { return false }
                depth -= 1
                position += 1
            case UInt8(ascii: ","), UInt8(ascii: ":"):
                guard depth > 0 else { return false }
                position += 1
            case nil: return false
            default:
                while let byte = current, !Self.delimiters.contains(byte) { position += 1 }
            }
        } while depth > 0
        return true
    }

    private static let delimiters = Set("{}[],:\" \t\n\r".utf8)
}

/// The one name in an object, as a decoder shows it.
private struct ShownName: Decodable {
    let name: String?

    init(from decoder: any Decoder) throws {
        name = try decoder.container(keyedBy: PathKey.self).allKeys.first?.stringValue
    }
}
