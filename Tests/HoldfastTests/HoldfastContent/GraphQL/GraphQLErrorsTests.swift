import Foundation
import Holdfast
import Testing

/// `errors` in a response, whatever its status. GraphQL §7.1
@Suite(.timeLimit(.minutes(20))) struct GraphQLErrorsTests {
    private func check(_ json: String) throws { try GraphQLErrors.check(Data(json.utf8)) }

    @Test(arguments: [
        #"{"data":{"a":1}}"#, #"{"data":null}"#, #"{"data":{"a":1},"errors":null}"#, #"{"data":{"a":1},"errors":[]}"#,
        #"{"data":{"errors":[{"message":"x"}]},"extensions":{}}"#,
    ])
    func dataWithoutErrorsPasses(json: String) throws {
        try check(json)
    }

    @Test(arguments: [
        (#"{"errors":[{"message":"x"}]}"#, false), (#"{"data":null,"errors":[{"message":"x"}]}"#, false),
        (#"{"data":{"a":null},"errors":[{"message":"x"}]}"#, true),
    ])
    func errorsCarryThePartialData(json: String, hasData: Bool) throws {
        struct Model: Decodable, Equatable { var a: Int? }
        let error = try #require(#expect(throws: HoldfastError.self) { try check(json) })
        #expect(error.code == .graphQL && error.body == Array(json.utf8))
        let errors = try #require(error.graphQLErrors)
        #expect(errors.errors.map(\.message) == ["x"] && errors.hasData == hasData)
        #expect(try errors.data(as: Model.self) == (hasData ? Model(a: nil) : nil))
    }

    @Test func errorStatesPlaceAndReason() throws {
        let json = #"""
            {"data":{"moments":[{"id":"1","title":null}]},"errors":[{"message":"No title for ada@example.com",
            "locations":[{"line":2,"column":3}],"path":["moments",0,"title"],"extensions":{"code":"NOT_FOUND","id":9007199254740993}},
            {"message":"y"}]}
            """#
        let error = try #require(#expect(throws: HoldfastError.self) { try check(json) })
        let first = try #require(error.graphQLErrors?.errors.first)
        #expect(first.path == "moments.0.title" && first.code == "NOT_FOUND")
        #expect(first.locations.map { [$0.line, $0.column] } == [[2, 3]])
        #expect(first.extensions["id"] == .integer(9_007_199_254_740_993))
        #expect(
            error.message
                == "The response has 2 GraphQL errors: 'NOT_FOUND' at 'moments[0].title', and also data. See 'graphQLErrors'."
        )
    }

    @Test(arguments: [
        #"{"errors":["x"]}"#, #"{"errors":[{}]}"#, #"{"errors":"x"}"#, #"{"errors":{"message":"x"}}"#,
        #"{"errors":[{"message":1,"path":"a","locations":{},"extensions":[]}]}"#, #"{"errors":[null]}"#,
        #"{"errors":7}"#,
    ])
    func malformedErrorsAreAnError(json: String) {
        let error = #expect(throws: HoldfastError.self) { try check(json) }
        #expect(error?.code == .graphQL && error?.graphQLErrors?.errors.count == 1)
    }

    @Test(arguments: ["", "<html>Sign in</html>", "[]", "{}", #"{"code":0}"#, "null", #"{"data":"#, "7"])
    func contentOtherThanGraphQLIsAnError(content: String) {
        let error = #expect(throws: HoldfastError.self) { try check(content) }
        #expect(error?.code == .dataFormat && error?.body == Array(content.utf8) && error?.graphQLErrors == nil)
    }

    @Test(arguments: [
        (#"{"errors":[{"message":"PersistedQueryNotFound"}]}"#, true),
        (#"{"errors":[{"message":"?","extensions":{"code":"PERSISTED_QUERY_NOT_FOUND"}}]}"#, true),
        (#"{"errors":[{"message":"?","extensions":{"code":"PERSISTED_QUERY_NOT_SUPPORTED"}}]}"#, true),
        (#"{"errors":[{"message":"?","extensions":{"code":"NOT_FOUND"}}]}"#, false),
    ])
    func unknownPersistedQueryIsRecognized(json: String, isUnknown: Bool) {
        let error = #expect(throws: HoldfastError.self) { try check(json) }
        #expect(error?.graphQLErrors?.isPersistedQueryUnknown == isUnknown)
    }
}
