import HTTPTypes
import Testing

@testable import HoldfastGateway

/// Mutants: a name found by its first bytes or its length alone; a name found in another case;
/// bytes accepted that are not a token.
@Suite(.timeLimit(.minutes(20)))
struct FieldNameTableTests {
    private func name(_ bytes: some Collection<UInt8>) -> HTTPField.Name? {
        Array(bytes).withUnsafeBytes { FieldNameTable.name($0) }
    }

    @Test(
        arguments: [
            "Host", "host", "HOST", "hOst", "Content-Type", "content-type", "CONTENT-TYPE", "Content-Typf",
            "Content-Typ",
            "X-Forwarded-For", "X-Forwarded-Foo", "X-Forwarded-Fors", "X-Request-ID", "X-Request-Id", "Accept-Language",
            "TE", "Te", "t",
            "X-A-Name-That-Is-Not-Common",
        ]
    )
    func namesEqualThoseOfHTTPTypes(text: String) throws {
        let found = try #require(name(text.utf8))
        let made = try #require(HTTPField.Name(text))
        #expect(found.rawName == made.rawName)
        #expect(found.canonicalName == made.canonicalName)
    }

    @Test(arguments: [
        "", " ", "Host ", " Host", "Ho st", "Host\0", "Host:", "Hö", "A-Name-That-Is-Long-And-Has a-space",
    ])
    func invalidTokensGiveNoName(text: String) {
        #expect(name(text.utf8) == nil)
    }

    @Test func everyByteOfANameMatters() {
        let whole = Array("Cache-Control".utf8)
        for index in whole.indices {
            var other = whole
            other[index] = UInt8(ascii: "z")
            #expect(name(other)?.rawName == String(decoding: other, as: UTF8.self))
        }
    }
}
