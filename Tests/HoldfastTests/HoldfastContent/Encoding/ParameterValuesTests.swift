import Foundation
import Holdfast
import HoldfastTesting
import Testing

/// Parameter values of the types that callers have.
@Suite(.timeLimit(.minutes(20))) struct ParameterValuesTests {
    private struct Filter: Encodable, Sendable {
        var author: Int
        var tags: [String]
        var since: Date?
    }

    private enum Sort: String, Codable { case newest, oldest }

    private struct Unencodable: Encodable, Sendable {
        func encode(to encoder: any Encoder) throws {
            throw EncodingError.invalidValue(0, .init(codingPath: [], debugDescription: "secret"))
        }
    }

    private func json(_ parameters: RequestParameters) throws -> String {
        String(decoding: try JSONContentEncoder().encode(parameters), as: UTF8.self)
    }

    @Test func literalsTakeVariablesOfUsualTypes() throws {
        let (page, text, isOn, ratio) = (3, "a b", true, 0.5)
        let narrow: UInt8 = 7
        let (large, single): (UInt64, Float) = (.max, 0.1)
        let decimal = try #require(Decimal(string: "19.90"))
        let date = Date(timeIntervalSince1970: 1_770_091_506.9)
        let id = try #require(UUID(uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F"))
        let url = try #require(URL(string: "https://a.example/x"))
        let parameters: RequestParameters = [
            "page": page, "q": text, "on": isOn, "ratio": ratio, "narrow": narrow, "large": large, "single": single,
            "decimal": decimal, "date": date, "id": id, "url": url, "sort": Sort.newest,
        ]
        #expect(
            try json(parameters) == """
                {"date":"2026-02-03T04:05:06Z","decimal":19.9,"id":"E621E1F8-C36C-495A-93FC-0C247A3E6E5F",\
                "large":18446744073709551615,"narrow":7,"on":true,"page":3,"q":"a b","ratio":0.5,"single":0.1,\
                "sort":"newest","url":"https://a.example/x"}
                """
        )
        #expect(
            try URLParameterEncoder().query(parameters) == """
                date=2026-02-03T04%3A05%3A06Z&decimal=19.9&id=E621E1F8-C36C-495A-93FC-0C247A3E6E5F\
                &large=18446744073709551615&narrow=7&on=true&page=3&q=a%20b&ratio=0.5&single=0.1\
                &sort=newest&url=https%3A%2F%2Fa.example%2Fx
                """
        )
    }

    @Test func nilOmitsAParameterAndNullIsWritten() throws {
        let (none, some): (Int?, Int?) = (nil, 1)
        let text: String? = nil
        let parameters: RequestParameters = ["none": none, "some": some, "text": text, "literal": nil, "null": .null]
        #expect(try json(parameters) == #"{"null":null,"some":1}"#)
        #expect(try URLParameterEncoder().query(parameters) == "some=1")
        #expect(parameters.values.keys.sorted() == ["null", "some"])
    }

    @Test func collectionsAndCasesAreValuesToo() throws {
        let (ids, names) = ([1, 2], ["b": "x", "a": "y"])
        let (text, flag) = ("t", false)
        let parameters: RequestParameters = [
            "ids": ids, "names": names, "gaps": [1, nil, 3] as [Int?],
            "mixed": .object(["text": text, "flag": flag, "none": nil]), "list": .array([.string(text), 1, nil]),
            "tree": ["a": 1, "b": [true, nil]] as ParameterValue, "string": .string(text), "boolean": .boolean(flag),
            "number": .number(1.5), "integer": .integer(-1), "unsigned": .unsigned(.max),
            "date": .date(Date(timeIntervalSince1970: 0), as: .secondsSince1970), "value": ParameterValue(Int64.min),
        ]
        #expect(
            try json(parameters) == """
                {"boolean":false,"date":0,"gaps":[1,null,3],"ids":[1,2],"integer":-1,"list":["t",1,null],\
                "mixed":{"flag":false,"text":"t"},"names":{"a":"y","b":"x"},"number":1.5,"string":"t",\
                "tree":{"a":1,"b":[true,null]},"unsigned":18446744073709551615,"value":-9223372036854775808}
                """
        )
    }

    @Test func decimalKeepsItsDigits() throws {
        func written(_ digits: String) throws -> String {
            let decimal = try #require(Decimal(string: digits))
            return try json(["d": decimal])
        }
        #expect(try written("0.1") == #"{"d":0.1}"#)
        #expect(try written("42") == #"{"d":42}"#)
        #expect(try written("0.1234567890123456789012345") == #"{"d":"0.1234567890123456789012345"}"#)
    }

    @Test func encodableValueIsOneParameterOrAll() throws {
        let filter = Filter(author: 7, tags: ["b", "a"], since: Date(timeIntervalSince1970: 0.9))
        let expected = #"{"author":7,"since":"1970-01-01T00:00:00Z","tags":["b","a"]}"#
        #expect(try json(["filter": filter]) == #"{"filter":\#(expected)}"#)
        #expect(try json(RequestParameters(filter)) == expected)
        #expect(
            try URLParameterEncoder().query(RequestParameters(Filter(author: 7, tags: ["b", "a"])))
                == "author=7&tags=b&tags=a"
        )
        #expect(RequestParameters(["a": 1]) == ["a": 1])
    }

    /// The key of the stored response depends on it.
    @Test func equalValuesAreEqualParameters() throws {
        let (author, tags) = (7, ["a"])
        let encoded = RequestParameters(Filter(author: author, tags: tags))
        let written: RequestParameters = ["tags": tags, "author": author, "since": nil]
        let cases: RequestParameters = ["author": .integer(7), "tags": .array(["a"])]
        #expect(encoded == written && written == cases)
        #expect(Set([encoded, written, cases]).count == 1)
    }

    @Test func subscriptTakesVariables() throws {
        let (page, none): (Int, String?) = (2, nil)
        var parameters: RequestParameters = ["none": 1, "case": nil]
        parameters["page"] = page
        parameters["none"] = none
        parameters["case"] = .boolean(true)
        parameters["filter"] = Filter(author: 1, tags: [])
        #expect(try json(parameters) == #"{"case":true,"filter":{"author":1,"tags":[]},"page":2}"#)
        #expect(parameters["page"] == .integer(2))
    }

    private struct Call: Endpoint {
        let baseURL = "https://a.example"
        let path = "/x"
        var task: HTTPTask
    }

    @Test(
        arguments: [
            .query(["ok": 1, "bad": Unencodable()]), .json(["bad": Unencodable()]),
            .urlEncoded(["bad": Unencodable()], destination: .content),
            .query(["deep": .object(["bad": Unencodable()])]), .json(["deep": .object(["bad": Unencodable()])]),
            .graphQL(GraphQLOperation("{ a }", variables: ["bad": Unencodable()])),
            .graphQL(GraphQLOperation("{ a }", variables: RequestParameters(Unencodable()))),
            .query(RequestParameters([1, 2])), .query(RequestParameters(7)), .query(RequestParameters(Unencodable())),
            .parameters(body: ["bad": Unencodable()], bodyEncoder: CountingEncoder()),
            .multipart([.text("x", name: "a")], parameters: ["bad": Unencodable()]),
        ] as [HTTPTask]
    )
    func unencodableValueFailsTheRequest(task: HTTPTask) async {
        await expect(.encodingFailed) { _ = try Call(task: task).request(defaults: .init()) }
    }

    @Test func defaultDoesNotReplaceAnUnencodableValue() async {
        await expect(.encodingFailed) {
            _ = try Call(task: .query(["a": Unencodable()])).request(defaults: .init(parameters: ["a": 1]))
        }
    }

    @Test func laterValueReplacesAnUnencodableOne() throws {
        var parameters: RequestParameters = ["a": Unencodable()]
        parameters["a"] = 1
        #expect(try json(parameters) == #"{"a":1}"#)
        for removes in [{ $0["a"] = nil }, { $0["a"] = String?.none }] as [(inout RequestParameters) -> Void] {
            var parameters: RequestParameters = ["a": Unencodable()]
            removes(&parameters)
            #expect(try json(parameters) == "{}")
        }
    }

    @Test func errorNamesTheParameterAndNotTheValue() {
        let error = #expect(throws: HoldfastError.self) { try json(["bad": Unencodable()]) }
        #expect(error?.message.contains("'bad'") == true && error?.message.contains("secret") == false)
    }

    /// An encoder that reads only the number of parameters.
    private struct CountingEncoder: ContentEncoder {
        let contentType = "text/plain"
        func encode(_ value: any Encodable) throws -> Data {
            Data("\((value as? RequestParameters)?.values.count ?? 0)".utf8)
        }
    }
}
