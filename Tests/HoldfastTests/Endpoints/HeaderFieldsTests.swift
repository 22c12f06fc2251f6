import HoldfastTesting
import Testing

@testable import Holdfast

/// An endpoint's fields, with names as values or as strings.
@Suite(.timeLimit(.minutes(20))) struct HeaderFieldsTests {
    private struct Named: Endpoint {
        let baseURL = "https://a.example"
        let path = "/x"
        var headers = ["x-app-platform": "iOS", "Accept": "text/html"]
    }

    private struct Typed: Endpoint {
        let baseURL = "https://a.example"
        let path = "/x"
        let headers: HTTPFields = [.accept: "text/html"]
    }

    @Test func namesMayBeStrings() throws {
        let defaults = RequestDefaults(fields: [.accept: "text/plain", .userAgent: "app"])
        let fields = try Named().request(defaults: defaults).head.headerFields
        let platform = try #require(HTTPField.Name("X-App-Platform"))
        #expect(fields[platform] == "iOS" && fields[.accept] == "text/html" && fields[.userAgent] == "app")
        #expect(try Typed().request(defaults: defaults).head.headerFields[.accept] == "text/html")
        #expect(try AnyEndpoint(Named()).request(defaults: defaults).head.headerFields == fields)
    }

    @Test func fieldsAreOrderedByName() throws {
        let names = (0..<30).map { "x-\(100 + $0)" }
        let fields = try HTTPFields(named: Dictionary(uniqueKeysWithValues: names.map { ($0, "1") }))
        #expect(fields.map(\.name.rawName) == names)
    }

    @Test(arguments: ["", "x y", "x:", ":path", "ü", "x\r\ny", "x\u{0}"])
    func invalidNameFailsTheCall(name: String) async {
        await expect(.encodingFailed) { _ = try Named(headers: [name: "1"]).request(defaults: .init()) }
        await expect(.encodingFailed) {
            _ = try AnyEndpoint(Named(headers: [name: "1"])).request(defaults: .init())
        }
    }

    @Test func errorShowsTheNameAndNotTheValue() {
        let error = #expect(throws: HoldfastError.self) { try HTTPFields(named: ["x token": "secret"]) }
        #expect(error?.message.contains("'x token'") == true && error?.message.contains("secret") == false)
    }

    @Test func valueCannotLeaveItsField() throws {
        let fields = try HTTPFields(named: ["x": "a\r\nCookie: b"])
        #expect(fields.count == 1 && fields.allSatisfy { !$0.value.contains { $0.isNewline } })
    }
}
