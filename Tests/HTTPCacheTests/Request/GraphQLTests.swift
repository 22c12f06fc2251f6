import HTTPTypes
import NIOCore
import Testing

@testable import HTTPCache

/// The GraphQL requests that are recognized as queries.
@Suite(.timeLimit(.minutes(20))) struct GraphQLTests {
    @Test(arguments: [
        ("{ a }", nil, GraphQLOperationType.query), ("query { a }", nil, .query), ("query A { a }", nil, .query),
        ("mutation { a }", nil, .mutation), ("subscription S { a }", nil, .subscription),
        ("query A { a } mutation B { b }", "A", .query), ("query A { a } mutation B { b }", "B", .mutation),
        (
            "fragment F on T { mutation } query ($a: [T!]! = {x: \"}\"}) @d(a: {b: 1}) { a(b: $a) { ...F } }", nil,
            .query
        ),
        ("# mutation { a }\n\u{FEFF},query{a}", nil, .query),
        ("query { a(b: \"\"\" mutation \\\"\"\" } \"\"\", c: \"\\\"}\") }", nil, .query),
        ("query query { mutation }", nil, .query), ("query A @live { a(x: -1.5e+3) @skip(if: true) }", "A", .query),
    ])
    func selectedOperationGivesType(document: String, name: String?, type: GraphQLOperationType) {
        #expect(GraphQLDocument.operation(in: document, named: name) == type)
    }

    @Test(arguments: [
        ("", nil), ("query A { a } query B { b }", nil), ("query A { a }", "B"), ("query A { a } query A { b }", "A"),
        ("{ a", nil), ("{ a ]", nil), ("{ a } }", nil), ("type A { a: Int }", nil),
        ("{ a } extend type A { b: Int }", nil),
        ("{ a(b: \"x) }", nil), ("{ a(b: \"\"\"x) }", nil), ("query", nil), ("query A(", nil), ("{ a } ?", nil),
        ("{ a } mutation { b }", nil), ("fragment F on T { a }", nil), ("{ a }", "A"), ("(query { a })", nil),
        ("query A : { a }", nil), (String(repeating: "{", count: 1000), nil),
    ])
    func unreadableDocumentHasNoType(document: String, name: String?) {
        #expect(GraphQLDocument.operation(in: document, named: name) == nil)
    }

    private func isQuery(
        _ json: String,
        type: String = "application/json",
        encoding: String? = nil,
        path: String = "/graphql"
    ) -> Bool {
        var fields: HTTPFields = [.contentType: type]
        if let encoding { fields[.contentEncoding] = encoding }
        let head = HTTPRequest(
            method: .post,
            scheme: "https",
            authority: "a.example",
            path: path,
            headerFields: fields
        )
        return CacheRequest(head: head, body: .buffer(ByteBuffer(string: json))).isGraphQLQuery
    }

    @Test(arguments: [
        #"{"query":"{ a }"}"#, #" { "query" : "{ a }" , "variables" : {"a":[1,-2.5e3,true,null,"x"]} } "#,
        #"{"operationName":null,"query":"query A { a }","extensions":{}}"#,
        #"{"operationName":"A","query":"query A { a } mutation B { b }"}"#, #"{"qu\u0065ry":"\u007b a }"}"#,
    ])
    func queriesAreRecognized(json: String) { #expect(isQuery(json)) }

    @Test(arguments: [
        "", "[]", "null", #"[{"query":"{ a }"}]"#, #"{"query":"mutation { a }"}"#, #"{"query":"subscription { a }"}"#,
        #"{"query":"{ a }","query":"mutation { a }"}"#, #"{"query":"{ a }","qu\u0065ry":"mutation { a }"}"#,
        #"{"query":"{ a }"} x"#, #"{"query":"{ a }",}"#, #"{"query":"{ a }""#, #"{"query":null}"#,
        #"{"operationName":"B","query":"query A { a } mutation B { b }"}"#, #"{"operationName":"","query":"{ a }"}"#,
        #"{"query":"{ a }","doc_id":"7"}"#, #"{"variables":{}}"#, #"{"query":"\ud800 { a }"}"#,
        #"{"query":"{ a }","variables":{"a" 1}}"#, "{\"query\":\"{ a }\n\"}",
    ])
    func otherContentIsNoQuery(json: String) { #expect(!isQuery(json)) }

    /// Skipped values are checked too, so that a server reads the same members.
    @Test(arguments: ["01", "+1", "-", "1-2", ".5", "1.", "1e", "1e999", "--1", "[1,]", "[1 2]", #"{"a":1,}"#, "True"])
    func variablesThatAreNoJSONAreNoQuery(value: String) {
        for member in ["variables", "extensions"] {
            #expect(!isQuery(#"{"query":"{ a }",""# + member + #"":{"a":"# + value + "}}"))
        }
    }

    /// Some servers take these from the target before the content.
    @Test(arguments: [
        "query=mutation", "a=1&operationName=B", "v&qu%65ry=x", "a;query=x", "variables", "extensions=", "id=1",
    ])
    func targetWithOperationIsNoQuery(query: String) {
        #expect(!isQuery(#"{"query":"{ a }"}"#, path: "/graphql?\(query)"))
        #expect(isQuery(#"{"query":"{ a }"}"#, path: "/graphql?version=2&querying=1"))
    }

    @Test(arguments: [
        "application/json; charset=utf-7", "application/json; charset=utf-16", "application/json;charset",
        "application/json; charset=utf-8; charset=utf-7", "application/json; charset*=utf-8''utf-7",
        "application/json charset=utf-16",
    ])
    func contentOtherThanUTF8IsNoQuery(type: String) {
        #expect(!isQuery(#"{"query":"{ a }"}"#, type: type))
        #expect(isQuery(#"{"query":"{ a }"}"#, type: "application/json;CHARSET=\"UTF-8\""))
    }

    @Test func persistedOperationIsNoQuery() {
        let hash = #""persistedQuery":{"version":1,"sha256Hash":"0"}"#
        #expect(!isQuery(#"{"query":"{ a }","extensions":{"# + hash + "}}"))
        #expect(!isQuery(#"{"query":"{ a }","extensions":{"x":[1],"# + hash + "}}"))
        #expect(isQuery(#"{"query":"{ a }","extensions":{"x":{"# + hash + "}}}"))
    }

    @Test func contentOfAnotherTypeIsNoQuery() {
        let json = #"{"query":"{ a }"}"#
        #expect(isQuery(json, type: "application/json; charset=utf-8"))
        #expect(isQuery(json, type: "application/graphql+json"))
        #expect(!isQuery(json, type: "text/plain"))
        #expect(!isQuery(json, encoding: "gzip"))
    }

    /// The outermost object counts too. No content exhausts the stack.
    @Test(arguments: [(255, true), (256, false), (5000, false)]) func depthIsLimited(depth: Int, isQuery: Bool) {
        let lists = String(repeating: "[", count: depth) + "1" + String(repeating: "]", count: depth)
        #expect(self.isQuery(#"{"query":"{ a }","variables":"# + lists + "}") == isQuery)
    }

    @Test func streamIsNoQuery() {
        let head = HTTPRequest(
            method: .post,
            scheme: "https",
            authority: "a.example",
            path: "/",
            headerFields: [.contentType: "application/json"]
        )
        let body = BodyStream(ByteBuffer(string: #"{"query":"{ a }"}"#))
        #expect(!CacheRequest(head: head, body: .stream(body)).isGraphQLQuery)
    }
}
