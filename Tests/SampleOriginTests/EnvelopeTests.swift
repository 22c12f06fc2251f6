import Foundation
import SampleOrigin
import Testing

@Suite(.timeLimit(.minutes(20))) struct EnvelopeTests {
    @Test(arguments: ["GET", "POST"])
    func successCarriesObjectArrayNullOrNothing(method: String) async throws {
        try await SampleOrigin.withOrigin { origin in
            let moment = try await RawClient.get("/moments/harbour-25", to: origin).text
            let object = try await RawClient.send(method, "/envelope/object", to: origin)
            #expect(object.text == #"{"code":0,"data":\#(moment),"msg":"ok"}"#)
            #expect(object["Cache-Control"] == "max-age=60")
            let array = try await RawClient.send(method, "/envelope/array", to: origin)
            #expect(array.text.hasPrefix(#"{"code":0,"data":[\#(moment),{"#))
            let null = try await RawClient.send(method, "/envelope/null", to: origin)
            #expect(null.text == #"{"code":0,"data":null,"msg":"ok"}"#)
            #expect(try await RawClient.send(method, "/envelope/none", to: origin).text == #"{"code":0,"msg":"ok"}"#)
        }
    }

    @Test(arguments: [
        ("failure", #"{"code":1001,"data":null,"msg":"The moments are closed."}"#),
        ("failure?code=7&msg=No%20more", #"{"code":7,"data":null,"msg":"No more"}"#),
        ("failure?code=E7&as=string", #"{"code":"E7","data":null,"msg":"The moments are closed."}"#),
        ("failure?as=bool", #"{"code":false,"data":null,"msg":"The moments are closed."}"#),
        ("bare", #"{"code":1001}"#), ("null?code=200&as=string", #"{"code":"200","data":null,"msg":"ok"}"#),
        ("null?as=bool", #"{"code":true,"data":null,"msg":"ok"}"#),
        ("nested-failure", #"{"error":{"errCode":1001,"errMsg":"The moments are closed."},"result":null}"#),
        ("ids", #"{"code":0,"data":{"id":9223372036854775807,"parentID":"9223372036854775806"},"msg":"ok"}"#),
    ])
    func envelopeHasRequestedShape(target: String, text: String) async throws {
        let response = try await SampleOrigin.withOrigin { try await RawClient.get("/envelope/\(target)", to: $0) }
        // A failure of this kind is a success in HTTP, and must not be stored.
        #expect(response.status == 200)
        #expect((response["Cache-Control"] == "no-store") == (target.contains("failure") || target == "bare"))
        #expect(response.text == text)
    }

    @Test func nestedSuccessHasItsItemsBelowTheResult() async throws {
        let response = try await SampleOrigin.withOrigin { try await RawClient.get("/envelope/nested", to: $0) }
        #expect(response.text.hasPrefix(#"{"error":{"errCode":0,"errMsg":"ok"},"result":{"items":[{"#))
    }

    @Test(arguments: [
        ("application/json", #"{"page":3,"other":[1]}"#), ("Application/JSON; charset=utf-8", #"{"page":"3"}"#),
        ("application/x-www-form-urlencoded", "x=1&page=3"),
    ])
    func listIsReadByPost(type: String, body: String) async throws {
        try await SampleOrigin.withOrigin { origin in
            let posted = try await RawClient.send(
                "POST",
                "/envelope/list",
                fields: [("Content-Type", type)],
                body: body,
                to: origin
            )
            let got = try await RawClient.get("/envelope/list?page=3", to: origin)
            #expect(posted.text == got.text)
            #expect(got.text.contains(#""page":3,"pageCount":3}"#))
            #expect(try await RawClient.send("POST", "/envelope/list", to: origin).text.contains(#""page":1,"#))
        }
    }

    @Test(arguments: [
        ("list", "application/json", "[]", 400), ("list", "text/plain", "page=1", 415),
        ("list", "application/x-www-form-urlencoded", "page=0", 400), ("object?as=float", "", "", 400),
        ("object?code=x", "", "", 400), ("other", "", "", 404),
    ])
    func rejectsWrongRequest(target: String, type: String, body: String, status: Int) async throws {
        let response = try await SampleOrigin.withOrigin {
            try await RawClient.send(
                "POST",
                "/envelope/\(target)",
                fields: [("Content-Type", type)],
                body: body,
                to: $0
            )
        }
        #expect(response.status == status)
    }
}
