import HoldfastContent

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Finds the location of a value in JSON text. RFC 8259
///
/// A decoder has already read the text, so this type checks only the structure. In malformed text,
/// it finds no value or a value that a decoder later rejects.
struct JSONLocator {
    private let bytes: [UInt8]
    /// Decodes names, because the decoder may convert them.
    private let decoder: any ResponseDecoder
    private var position = 0

    init(data: Data, decoder: any ResponseDecoder) {
        bytes = Array(data)
        self.decoder = decoder
    }

    /// Returns the range of the value at a path, without surrounding white space. Returns `nil` if
    /// there is no value, or if an object contains the name twice.
    consuming func range(of path: ValuePath) -> Range<Int>? {
        var locator = self
        for step in path.steps {
            locator.skipSpace()
            let isThere: Bool
            switch (locator.current, step) {
            case (UInt8(ascii: "["), .index(let index)): isThere = locator.enterElement(index)
            case (UInt8(ascii: "{"), .index(let index)): isThere = locator.enterMember(String(index))
            case (UInt8(ascii: "{"), .name(let name)): isThere = locator.enterMember(name)
            default: isThere = false
            }
            guard isThere else { return nil }
        }
        locator.skipSpace()
        let start = locator.position
        return locator.skipValue() ? start..<locator.position : nil
    }

    private var current: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func skipSpace() {
        while let byte = current, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { position += 1 }
    }

    /// Skips white space and a structural character.
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
                // It is unknown which of the two a decoder uses.
                if start != nil { return false }
                start = position
            }
            guard skipValue() else { return false }
        } while skip(",")
        guard let start else { return false }
        position = start
        return true
    }

    /// Returns whether the decoder converts a quoted name to `name`.
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

    /// Skips white space and a value of any kind. Not recursive, because the text may be deeply
    /// nested.
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

/// The only name in an object, as a decoder converts it.
private struct ShownName: Decodable {
    let name: String?

    init(from decoder: any Decoder) throws {
        name = try decoder.container(keyedBy: PathKey.self).allKeys.first?.stringValue
    }
}
