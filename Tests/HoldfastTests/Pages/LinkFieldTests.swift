import HTTPTypes
import Testing

@testable import Holdfast

/// The `Link` field. RFC 8288
@Suite(.timeLimit(.minutes(20))) struct LinkFieldTests {
    private func next(_ values: String...) throws -> String? {
        let name = try #require(HTTPField.Name("Link"))
        var fields: HTTPFields = [:]
        for value in values { fields.append(HTTPField(name: name, value: value)) }
        return LinkField.next(in: fields)
    }

    @Test(arguments: [
        (#"<https://a.example/x?page=2>; rel="next""#, "https://a.example/x?page=2"),
        ("</x?page=2>; rel=next", "/x?page=2"),
        ("<?page=2>;rel=next", "?page=2"),
        (#"<b>; rel="prev", <c>; rel="next"; title="3""#, "c"),
        (#"<b>; title="a, <d>; rel=next"; rel=last, <c>; rel="last NEXT""#, "c"),
        (#"<c> ; REL = "next" ; type="text/html""#, "c"),
        (#"<c>; title="a \" b; rel=prev"; rel=next"#, "c"),
        ("<c>; rel=next; rel=prev", "c"),
        ("<c>; rel=next; crossorigin", "c"),
        (", <c>; rel=next", "c"),
        ("<>; rel=next", ""),
    ])
    func nextLinkIsFound(value: String, target: String) throws {
        #expect(try next(value) == target)
    }

    @Test(arguments: [
        "", "next", "<c>", "<c>; rel=prev", "<c>; rel=nextpage", "<c>; rel=prev; rel=next", "<c; rel=next",
        #"<c>; rel="next"#, #"<c>; anchor="/other"; rel=next"#, "<c> rel=next", "c; rel=next",
        "<b>; rel=prev <c>; rel=next",
    ])
    func otherValuesHaveNoNextLink(value: String) throws {
        #expect(try next(value) == nil)
    }

    @Test func linksOfAllFieldsAreRead() throws {
        #expect(try next("<a>; rel=prev", "broken", "<c>; rel=next") == "c")
    }

    // A field that breaks off anywhere leads to the target, or nowhere.
    @Test func fieldCutAtEveryByteNamesNoOtherTarget() throws {
        let whole = #"</y>; rel="prev"; title="a, <z>; rel=next", </x?page=2>; rel="next""#
        for length in 0...whole.utf8.count {
            let found = try next(String(whole.prefix(length)))
            #expect(found == nil || found == "/x?page=2", "\(length)")
        }
    }
}
