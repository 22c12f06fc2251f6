import HTTPCacheSemantics
import HTTPTypes
import Testing

@testable import FleetTier

@Suite(.timeLimit(.minutes(20))) struct ValueNamesTests {
    private func names(_ path: String = "/a", secret: [UInt8] = ResponseBench.secret) throws -> ValueNames {
        try ResponseBench(secret, path: path).names
    }

    @Test func namesHaveTheirForm() throws {
        let names = try names()
        let digest = "[A-Za-z0-9_-]{22}"
        #expect(try Regex("hf1:shop:\\{\(digest)\\}:e").wholeMatch(in: names.envelope.text) != nil)
        let slot = try #require(names.envelope.text.split(separator: "}").first)
        for name in [names.lease, names.variant(["a"], [:]), names.chunk(3, of: BodyID(bits: 255))] {
            #expect(name.text.hasPrefix(slot + "}:"))
        }
        #expect(names.lease.text.hasSuffix("}:l"))
        #expect(names.chunk(3, of: BodyID(bits: 255)).text.hasSuffix("}:c:ff:3"))
        #expect(try Regex(".*\\}:v:\(digest)").wholeMatch(in: names.variant(["a"], [:]).text) != nil)
    }

    @Test func keysAndSecretsHaveNamesOfTheirOwn() throws {
        #expect(try names().envelope == names().envelope)
        #expect(try names().envelope != names("/b").envelope)
        #expect(try names().envelope != names(secret: ResponseBench.otherSecret).envelope)
        #expect(try names().variant(["a"], [:]) != names(secret: ResponseBench.otherSecret).variant(["a"], [:]))
    }

    @Test func variantsDifferByWhatSelectsThem() throws {
        let names = try names()
        let a = try #require(HTTPField.Name("A"))
        let b = try #require(HTTPField.Name("b"))
        let list = ["a", "b"]
        let distinct = [
            names.variant(list, [:]), names.variant(list, [a: ""]), names.variant(list, [a: "1"]),
            names.variant(list, [b: "1"]), names.variant(list, [a: "1", b: "1"]), names.variant(list, [a: "11"]),
            names.variant(["a"], [:]), names.variant(["a"], [a: "1"]), names.variant(["ab"], [:]),
        ]
        #expect(Set(distinct).count == distinct.count)
        #expect(
            names.variant(["b", "a", "b"], [b: "2", a: "1", .server: "x"]) == names.variant(list, [a: "1", b: "2"])
        )
    }

    /// A node that stores a response and one that asks for it find the same name.
    @Test func requestFindsTheVariantOfItsResponse() throws {
        let policy = CachePolicy(kind: .shared)
        func request(_ fields: HTTPFields) -> HTTPRequest {
            HTTPRequest(method: .get, scheme: "https", authority: "a.example", path: "/", headerFields: fields)
        }
        let response = HTTPResponse(status: .ok, headerFields: [.vary: "Accept-Language , accept-encoding"])
        let list = try #require(policy.selectingNames(of: response.headerFields))
        #expect(list == ["accept-encoding", "accept-language"])
        let stored = policy.selectingFields(of: request([.acceptEncoding: "gzip, br"]), for: response)
        let names = try names()
        let same = policy.selectingFields(of: request([.acceptEncoding: "BR,gzip", .accept: "x"]), named: list)
        #expect(names.variant(list, same) == names.variant(list, stored))
        for other in [[:], [.acceptEncoding: "br"], [.acceptEncoding: "gzip, br", .acceptLanguage: "de"]]
            as [HTTPFields]
        {
            let fields = policy.selectingFields(of: request(other), named: list)
            #expect(names.variant(list, fields) != names.variant(list, stored))
        }
        for fields in [[.vary: "*"], [.vary: "a, *"], [.vary: "a b"]] as [HTTPFields] {
            #expect(policy.selectingNames(of: fields) == nil)
        }
        #expect(policy.selectingNames(of: [:]) == [])
    }
}
