import Foundation
import Holdfast
import Testing

@testable import Holdfast

/// Results in an envelope.
@Suite(.timeLimit(.minutes(20))) struct EnvelopeTests {
    struct Moment: Decodable, Equatable { var id: Int }

    private static let described = Envelope(
        code: ValuePath("error>code", separator: ">"),
        success: [0, "OK"],
        messages: [ValuePath("error>errMsg", separator: ">"), "msg"],
        model: "result.data"
    )

    private func decode<Value: Decodable>(
        _ json: String,
        as type: Value.Type = Value.self,
        in envelope: Envelope? = Envelope(),
        at path: ValuePath = ValuePath(),
        empty: EmptyContent = .missing
    ) throws -> Value {
        try ContentDecoding(decoder: JSONDecoder(), envelope: envelope, path: path, emptyContent: empty)
            .decode(type, from: Data(json.utf8), status: .ok, target: MessageTarget("GET https://a.example/x"))
    }

    private func failure<Value: Decodable>(
        _ json: String,
        as type: Value.Type,
        in envelope: Envelope? = Envelope(),
        at path: ValuePath = ValuePath()
    ) -> HoldfastError? {
        #expect(throws: HoldfastError.self) { try decode(json, as: type, in: envelope, at: path) }
    }

    @Test func objectsArraysAndPlainValuesAreUnwrapped() throws {
        #expect(try decode(#"{"code":0,"data":{"id":1}}"#, as: Moment.self) == Moment(id: 1))
        #expect(try decode(#"{"code":"0","data":[{"id":1}]}"#, as: [Moment].self) == [Moment(id: 1)])
        #expect(try decode(#"{"code":false,"data":7}"#, as: Int.self) == 7)
        #expect(try decode(#"{"code":0,"data":"token"}"#, as: String.self) == "token")
        #expect(try decode(#"{"code":0,"data":{"list":[{"id":1},{"id":2}]}}"#, at: "list[1].id") == 2)
    }

    @Test func failedEnvelopeIsAnErrorWithCodeMessageAndBytes() {
        let json = #"{"code":1001,"msg":"hunter2 is wrong","data":{"id":1}}"#
        let error = failure(json, as: Moment.self)
        #expect(error?.code == .envelope && error?.status == .ok && error?.body == Array(json.utf8))
        #expect(error?.envelope == EnvelopeResult(isSuccess: false, code: 1001, message: "hunter2 is wrong"))
        #expect(error?.message.contains("hunter2") == false && error?.outcome == .failed)
    }

    @Test func failedEnvelopeIsAFailureWhateverItsModel() {
        for model in ["null", "{}", #""""#, "[]", "7"] {
            #expect(failure(#"{"code":1,"data":\#(model)}"#, as: Moment.self)?.code == .envelope)
            #expect(failure(#"{"code":1,"data":\#(model)}"#, as: [Moment]?.self)?.code == .envelope)
        }
        #expect(failure(#"{"code":1}"#, as: NoContent.self)?.code == .envelope)
    }

    @Test func resultAndModelAreReadTogether() throws {
        let object: Enveloped<Moment> = try decode(#"{"code":0,"msg":"fine","data":{"id":1}}"#)
        #expect(object.result == EnvelopeResult(isSuccess: true, code: 0, message: "fine"))
        #expect(try object.validate() == Moment(id: 1))
        let array: Enveloped<[Moment]> = try decode(#"{"code":0,"data":{"list":[{"id":1}]}}"#, at: "list")
        #expect(array.model == [Moment(id: 1)] && array.result.message == "")
        let null: Enveloped<Moment> = try decode(#"{"code":0,"data":null}"#)
        #expect(null.model == nil && null.result.isSuccess)
        let failed: Enveloped<Moment> = try decode(#"{"code":5,"msg":"no","data":""}"#)
        #expect(failed.model == nil && failed.result.code == 5)
        #expect(throws: HoldfastError.self) { try failed.validate() }
        #expect(failure(#"{"code":0,"data":{"no":1}}"#, as: Enveloped<Moment>.self)?.codingPath == "data.id")
    }

    private static let terse = Envelope(missingCode: 800, missingMessage: "The server is busy.")

    @Test func defaultsReplaceMissingParts() throws {
        let busy = EnvelopeResult(isSuccess: false, code: 800, message: "The server is busy.")
        for json in ["{}", #"{"code":null}"#, #"{"msg":"","data":{"id":1}}"#, #"{"msg":null}"#] {
            #expect(failure(json, as: Moment.self, in: Self.terse)?.envelope == busy, "\(json)")
            #expect(try decode(json, as: EnvelopeResult.self, in: Self.terse) == busy, "\(json)")
            #expect(try decode(json, as: Enveloped<Moment>.self, in: Self.terse).result == busy, "\(json)")
        }
        // A code that is present counts.
        let said = failure(#"{"code":7,"msg":"expired"}"#, as: Moment.self, in: Self.terse)?.envelope
        #expect(said == EnvelopeResult(isSuccess: false, code: 7, message: "expired"))
        let half = failure(#"{"code":7}"#, as: Moment.self, in: Self.terse)?.envelope
        #expect(half == EnvelopeResult(isSuccess: false, code: 7, message: "The server is busy."))
        let fine = try decode(#"{"code":0}"#, as: EnvelopeResult.self, in: Self.terse)
        #expect(fine == EnvelopeResult(isSuccess: true, code: 0, message: ""))
    }

    @Test func defaultCodeMayMeanSuccess() throws {
        let silent = Envelope(missingCode: 0)
        #expect(try decode(#"{"data":{"id":1}}"#, as: Moment.self, in: silent) == Moment(id: 1))
        #expect(failure(#"{"code":1,"data":{"id":1}}"#, as: Moment.self, in: silent)?.code == .envelope)
    }

    /// Plain bytes may be an image, or JSON without an envelope: a default code rejects neither.
    @Test func defaultCodeRejectsNoBytes() throws {
        let decoding = ContentDecoding(
            decoder: JSONDecoder(),
            envelope: Self.terse,
            path: ValuePath(),
            emptyContent: .missing
        )
        func check(_ json: String) throws {
            try decoding.rejectFailure(Data(json.utf8), status: .ok, target: MessageTarget("x"))
        }
        #expect(throws: Never.self) { try check(#"{"name":"low tide"}"#) }
        #expect(throws: HoldfastError.self) { try check(#"{"code":7}"#) }
    }

    @Test func failedResultAloneIsNoError() throws {
        let result: EnvelopeResult = try decode(#"{"code":"E7","msg":"no","data":7}"#)
        #expect(result == EnvelopeResult(isSuccess: false, code: "E7", message: "no"))
        #expect(try decode(#"{"code":0}"#, as: EnvelopeResult.self).isSuccess)
    }

    @Test func envelopeIsReadAtItsPaths() throws {
        let content = #"{"error":{"code":"OK"},"result":{"data":{"id":3}}}"#
        let dotted = Envelope(code: "error.code", success: ["OK"], model: "result.data")
        #expect(try decode(content, as: Moment.self, in: dotted) == Moment(id: 3))
        #expect(try decode(content, as: Moment.self, in: Self.described) == Moment(id: 3))
        for (json, message) in [
            (#"{"error":{"code":1,"errMsg":"first"},"msg":"second"}"#, "first"),
            (#"{"error":{"code":1,"errMsg":""},"msg":"second"}"#, "second"),
            (#"{"error":{"code":1,"errMsg":{"en":"x"}},"msg":"second"}"#, "second"),
            (#"{"error":{"code":1},"msg":404}"#, "404"),
            (#"{"error":{"code":1},"msg":null}"#, EnvelopeResult.defaultMessage),
            (#"{"error":null}"#, EnvelopeResult.defaultMessage),
        ] {
            #expect(failure(json, as: Moment.self, in: Self.described)?.envelope?.message == message, "\(json)")
        }
    }

    @Test func missingCodeIsNoSuccessUnlessNullMeansSuccess() throws {
        for json in [#"{"data":{"id":1}}"#, #"{"code":null,"data":{"id":1}}"#] {
            #expect(failure(json, as: Moment.self)?.envelope?.code == .null)
            #expect(try decode(json, as: Moment.self, in: Envelope(success: [nil])) == Moment(id: 1))
        }
        #expect(failure(#"{"code":{},"data":{"id":1}}"#, as: Moment.self)?.code == .envelope)
    }

    @Test func emptyModelIsNilOrNoDataOrTheEndpointsChoice() throws {
        for json in [#"{"code":0,"data":null}"#, #"{"code":0}"#] {
            #expect(try decode(json, as: Moment?.self) == nil)
            #expect(failure(json, as: Moment.self)?.code == .noData)
            #expect(failure(json, as: Moment.self)?.message.contains("'data'") == true)
            #expect(try decode(json, as: [Moment].self, empty: .json("[]")) == [])
            _ = try decode(json, as: NoContent.self)
        }
        let deeper = failure(#"{"code":0,"data":{}}"#, as: Int.self, at: "list[0]")
        #expect(deeper?.code == .decodingFailed && deeper?.codingPath == "data.list")
    }

    @Test func contentWithoutAnEnvelopeIsUndecodable() {
        for json in ["<html>", "[]", "7", ""] {
            let code: HoldfastError.Code = json.isEmpty ? .noData : .decodingFailed
            #expect(failure(json, as: Moment.self)?.code == code, "\(json)")
            #expect(failure(json, as: EnvelopeResult.self)?.code == code, "\(json)")
        }
    }

    @Test func checkBeforeStoringReadsOnlyTheEnvelope() throws {
        func check(_ json: String, _ envelope: Envelope? = Envelope()) throws {
            try ContentDecoding(decoder: JSONDecoder(), envelope: envelope, path: "x", emptyContent: .missing)
                .checkEnvelope(Data(json.utf8), status: .ok, target: MessageTarget("GET https://a.example/x"))
        }
        try check(#"{"code":0}"#)
        try check("")
        try check("<html>", nil)
        #expect(#expect(throws: HoldfastError.self) { try check(#"{"code":1}"#) }?.code == .envelope)
        #expect(#expect(throws: HoldfastError.self) { try check("<html>") }?.code == .decodingFailed)
        let decoding = ContentDecoding(
            decoder: JSONDecoder(),
            envelope: Envelope(),
            path: ValuePath(),
            emptyContent: .missing
        )
        #expect(decoding.takesBytes(Data.self) && decoding.takesBytes(RawContent.self))
        #expect(!decoding.takesBytes(String.self) && !decoding.takesBytes(Moment.self))
    }

    /// Plain bytes may be anything. An envelope that states a failure does not replace good data.
    /// Mutant: bytes are not checked.
    @Test func failedEnvelopeIsNotStoredAsBytes() async throws {
        try await ScriptedClient.run(.init(envelope: Envelope())) { fixture in
            let good = #"{"code":0,"data":1}"#
            fixture.script("/x", .fresh(good), .fresh(#"{"code":1,"msg":"no"}"#))
            fixture.script("/image", .fresh("\u{89}PNG"))
            fixture.script("/other", .fresh(#"{"title":"no envelope"}"#))
            let client = fixture.client
            _ = try await client.fetch(fixture.get("/x"), as: Data.self)
            let failed = try await client.fetch(fixture.get("/x"), as: Data.self, .networkOnly).value
            #expect(String(decoding: failed, as: UTF8.self).contains("no"))
            let stored = try await client.stored(fixture.get("/x"), as: Data.self)?.value
            #expect(stored.map { String(decoding: $0, as: UTF8.self) } == good)
            for path in ["/image", "/other"] {
                _ = try await client.fetch(fixture.get(path), as: Data.self)
                let kept = try await client.stored(fixture.get(path), as: Data.self)
                #expect(kept != nil, "\(path)")
            }
        }
    }

    @Test func pathWithoutAModelTypeStartsAtTheEnvelopesModel() throws {
        let content = RawContent(
            Data(#"{"code":0,"data":{"moments":[{"id":9007199254740993}]}}"#.utf8),
            envelope: Envelope()
        )
        #expect(try content.value(at: "moments[0].id", as: Int64.self) == 9_007_199_254_740_993)
        let below: RawContent = try decode(#"{"code":0,"data":{"moments":[{"id":5}]}}"#, at: "moments")
        #expect(try below.value(at: "[0].id", as: Int.self) == 5)
        let failed: RawContent = try decode(#"{"code":9,"data":{"id":1}}"#)
        #expect(#expect(throws: HoldfastError.self) { try failed.value(at: "id", as: Int.self) }?.envelope?.code == 9)
        #expect(!(try failed.value(as: EnvelopeResult.self).isSuccess))
    }
}
