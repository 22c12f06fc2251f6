import Foundation
import Holdfast
import Testing

@testable import Holdfast

/// `{ code, msg, data }` and `validate()`.
@Suite(.timeLimit(.minutes(20))) struct RootModelTests {
    struct Detail: Codable, Equatable { var id: Int }
    struct Strict: Decodable, Equatable, EnvelopeRule {
        var id: Int
        static func isSuccess(_ code: AnyJSON) -> Bool { code.means(200) }
        static var missingCode: AnyJSON { 500 }
        static var missingMessage: String { "No reason." }
    }
    struct Reply<Model: Decodable>: EnvelopedContent {
        var ok: Bool
        var error: String?
        var payload: Model?
        var result: EnvelopeResult { EnvelopeResult(isSuccess: ok, code: .boolean(ok), message: error) }
        var model: Model? { payload }
    }

    private func root<Model>(_ json: String, of type: Model.Type = Model.self) throws -> RootModel<Model> {
        try JSONDecoder().decode(RootModel<Model>.self, from: Data(json.utf8))
    }

    @Test func dataIsReturnedWhenTheCodeMeansSuccess() throws {
        #expect(try root(#"{"code":0,"msg":"OK","data":{"id":1}}"#).validate() == Detail(id: 1))
        #expect(try root(#"{"code":"0","data":[{"id":1}]}"#).validate() == [Detail(id: 1)])
        #expect(try root(#"{"code":0,"data":null}"#, of: Detail.self).validate() == nil)
        #expect(try root(#"{"code":0}"#, of: Detail.self).validate() == nil)
    }

    @Test func otherCodeIsAnErrorWithCodeAndMessage() throws {
        for data in ["null", "{}", #""""#, #"{"id":1}"#] {
            let root = try root(#"{"code":7,"msg":"expired","data":\#(data)}"#, of: Detail.self)
            let error = #expect(throws: HoldfastError.self) { try root.validate() }
            #expect(error?.code == .envelope)
            #expect(error?.envelope == EnvelopeResult(isSuccess: false, code: 7, message: "expired"))
        }
    }

    @Test func codeAndMessageHaveDefaults() throws {
        let error = #expect(throws: HoldfastError.self) { try root(#"{"data":{"id":1}}"#, of: Detail.self).validate() }
        #expect(error?.envelope?.code == .null && error?.envelope?.message == EnvelopeResult.defaultMessage)
        let own = #expect(throws: HoldfastError.self) { try root("{}", of: Strict.self).validate() }
        #expect(own?.envelope == EnvelopeResult(isSuccess: false, code: 500, message: "No reason."))
    }

    @Test func typeSuppliesItsOwnRuleInArraysAndOptionals() throws {
        #expect(try root(#"{"code":200,"data":{"id":1}}"#, of: Strict.self).validate() == Strict(id: 1))
        #expect(try root(#"{"code":"200","data":[{"id":1}]}"#, of: [Strict].self).validate() == [Strict(id: 1)])
        #expect(try root(#"{"code":200,"data":{"id":1}}"#, of: Strict?.self).validate() == Strict(id: 1))
        #expect(throws: HoldfastError.self) { try root(#"{"code":0,"data":{"id":1}}"#, of: Strict.self).validate() }
    }

    @Test func successWithAnotherModelIsUndecodable() {
        #expect(throws: DecodingError.self) { try root(#"{"code":0,"data":{"no":1}}"#, of: Detail.self) }
        #expect(throws: DecodingError.self) { try root("[]", of: Detail.self) }
    }

    struct Lenient: Decodable, Equatable, EnvelopeRule {
        var id: Int
        static func isSuccess(_ code: AnyJSON) -> Bool { code.means(200) }
    }

    /// Default message and code for all models of an API.
    @Test func modelRuleOverridesTheClientsEnvelope() throws {
        let terse = Envelope(missingCode: 800, missingMessage: "The server is busy.")
        let decoding = ContentDecoding(
            decoder: JSONDecoder(),
            envelope: terse,
            path: ValuePath(),
            emptyContent: .missing
        )
        func decode<Model: Decodable>(_ json: String, of type: Model.Type) throws -> RootModel<Model> {
            try decoding.decode(
                RootModel<Model>.self,
                from: Data(json.utf8),
                status: .ok,
                target: MessageTarget("x")
            )
        }
        let busy = EnvelopeResult(isSuccess: false, code: 800, message: "The server is busy.")
        #expect(try decode("{}", of: Detail.self).result == busy)
        #expect(try decode(#"{"code":null,"msg":null}"#, of: [Detail].self).result == busy)
        // A rule without defaults leaves them to the client.
        #expect(try decode("{}", of: Lenient.self).result == busy)
        #expect(try decode("{}", of: [Lenient]?.self).result == busy)
        let own = EnvelopeResult(isSuccess: false, code: 500, message: "No reason.")
        #expect(try decode("{}", of: Strict.self).result == own)
        #expect(try decode("{}", of: [Strict].self).result == own)
        // A code that is present counts.
        let said = try decode(#"{"code":7,"msg":"expired"}"#, of: Detail.self).result
        #expect(said == EnvelopeResult(isSuccess: false, code: 7, message: "expired"))
        #expect(try decode(#"{"code":0,"data":{"id":1}}"#, of: Detail.self).result.message == "")
        // Values that are read without a client are not affected.
        #expect(try root("{}", of: Detail.self).result.code == .null)
    }

    /// A `RootModel` can be stored as an object.
    @Test func rootModelIsEncodedAsItWasRead() throws {
        for json in [#"{"code":0,"msg":"OK","data":{"id":1}}"#, #"{"code":"E7"}"#, #"{"code":null}"#] {
            let read = try root(json, of: Detail.self)
            let written = try JSONEncoder().encode(read)
            #expect(try JSONDecoder().decode(RootModel<Detail>.self, from: written) == read, "\(json)")
        }
    }

    @Test func equalModelsAreEqualWhicheverClientReadThem() throws {
        let decoding = ContentDecoding(
            decoder: JSONDecoder(),
            envelope: Envelope(missingCode: 800),
            path: ValuePath(),
            emptyContent: .missing
        )
        for (json, isEqual) in [(#"{"code":0,"data":{"id":1}}"#, true), (#"{"code":7}"#, true), ("{}", false)] {
            let read = try decoding.decode(
                RootModel<Detail>.self,
                from: Data(json.utf8),
                status: .ok,
                target: MessageTarget("x")
            )
            #expect(try (read == root(json)) == isEqual, "\(json)")
        }
    }

    @Test func rootModelIsReadFromTheWholeContent() throws {
        let decoding = ContentDecoding(
            decoder: JSONDecoder(),
            envelope: Envelope(code: "status"),
            path: ValuePath(),
            emptyContent: .missing
        )
        func decode<Value: Decodable>(_ type: Value.Type, _ json: String) throws -> Value {
            try decoding.decode(type, from: Data(json.utf8), status: .ok, target: MessageTarget("x"))
        }
        #expect(try decode(RootModel<Detail>.self, #"{"code":0,"data":{"id":1}}"#).validate() == Detail(id: 1))
        #expect(try decode(Reply<Detail>.self, #"{"ok":true,"payload":{"id":1}}"#).validate() == Detail(id: 1))
        let error = #expect(throws: HoldfastError.self) {
            try decode(Reply<Detail>.self, #"{"ok":false,"error":"no"}"#).validate()
        }
        #expect(error?.envelope == EnvelopeResult(isSuccess: false, code: false, message: "no"))
    }
}
