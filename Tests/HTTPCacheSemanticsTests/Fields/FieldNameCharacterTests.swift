import HTTPCacheSemantics
import HTTPTypes
import Testing

/// docs/attacks.md, 80: which name a program behind CGI reads in a field's name.
///
/// Mutants: only `_` counts; trailers with `.` pass.
@Suite(.timeLimit(.minutes(20))) struct FieldNameCharacterTests {
    /// The bytes of a token, by RFC 9110 §5.6.2.
    static let tokenBytes = Array("!#$%&'*+-.^_`|~".utf8) + Array(0x30...0x39) + Array(0x41...0x5A) + Array(0x61...0x7A)

    /// The name of the variable in which a server puts a field: lighttpd keeps letters and digits.
    static func variable(_ name: String) -> [UInt8] {
        name.lowercased().utf8.map { (0x30...0x39).contains($0) || (0x61...0x7A).contains($0) ? $0 : 0x5F }
    }

    /// The name with each of these bytes in each place: in place of the byte there, and before it.
    static func spellings(of name: String) -> Set<String> {
        let bytes = Array(name.utf8)
        var spellings: Set<String> = []
        for byte in tokenBytes {
            for place in bytes.indices {
                var spelling = bytes
                spelling[place] = byte
                spellings.insert(String(decoding: spelling, as: UTF8.self))
                spelling = bytes
                spelling.insert(byte, at: place)
                spellings.insert(String(decoding: spelling, as: UTF8.self))
            }
            spellings.insert(String(decoding: bytes + [byte], as: UTF8.self))
            spellings.insert(String(decoding: bytes.map { $0 == 0x2D ? byte : $0 }, as: UTF8.self))
        }
        return spellings
    }

    /// The name with each of these signs in place of one of its hyphens, and of all of them.
    private static func likeHyphens(_ name: String) -> Set<String> {
        let bytes = Array(name.utf8)
        var spellings: Set<String> = []
        for sign in "!#$%&'*+-.^_`|~".utf8 {
            for place in bytes.indices where bytes[place] == 0x2D {
                var spelling = bytes
                spelling[place] = sign
                spellings.insert(String(decoding: spelling, as: UTF8.self))
            }
            spellings.insert(String(decoding: bytes.map { $0 == 0x2D ? sign : $0 }, as: UTF8.self))
        }
        return spellings
    }

    @Test func readsNoOtherSpellingAsFieldWithMeaning() {
        var count = 0
        for entry in RequestFieldTable.all where !entry.isFamily {
            var others = Self.likeHyphens(entry.name)
            others.remove(entry.name)
            count += others.count
            #expect(others.allSatisfy { Self.variable($0) == Self.variable(entry.name) })
            #expect(others.allSatisfy { FieldRules.isReadAsAnother($0) }, "\(entry.name)")
            #expect(!FieldRules.isReadAsAnother(entry.name))
        }
        #expect(count > 4_000)
        let variable = Self.variable("x-forwarded-host")
        for spelling in Self.spellings(of: "x-forwarded-host") where Self.variable(spelling) == variable {
            let name = spelling.lowercased()
            #expect(name == "x-forwarded-host" || FieldRules.isReadAsAnother(name), "\(spelling)")
        }
    }

    @Test func readsLettersDigitsAndHyphensAsThemselves() {
        for spelling in Self.spellings(of: "x-9forwarded--host") {
            let name = spelling.lowercased()
            let isPlain = name.utf8.allSatisfy { "abcdefghijklmnopqrstuvwxyz0123456789-".utf8.contains($0) }
            #expect(FieldRules.isReadAsAnother(name) != isPlain, "\(spelling)")
        }
    }

    @Test func leavesAmbiguousNamesOutOfTrailers() throws {
        var section = HTTPFields()
        for spelling in Self.spellings(of: "X-Sum-1") where FieldRules.isReadAsAnother(spelling.lowercased()) {
            section.append(HTTPField(name: try #require(HTTPField.Name(spelling)), value: "x"))
        }
        #expect(section.count > 200 && TrailerRules().passing(section) == nil)
    }
}
