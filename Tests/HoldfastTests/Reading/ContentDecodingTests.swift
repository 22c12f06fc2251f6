import Foundation
import Holdfast
import HoldfastTesting
import Testing

@testable import Holdfast

@Suite(.timeLimit(.minutes(20))) struct ContentDecodingTests {
    struct Person: Decodable, Equatable { var name: String }

    private func decode<Value: Decodable>(
        _ text: String,
        as type: Value.Type = Value.self,
        at path: ValuePath = ValuePath(),
        empty: EmptyContent = .missing
    ) throws -> Value {
        try ContentDecoding(decoder: JSONDecoder(), envelope: nil, path: path, emptyContent: empty)
            .decode(type, from: Data(text.utf8), status: .ok, target: MessageTarget("GET https://a.example/x"))
    }

    @Test func reflectedContentShowsNoSecret() {
        var head = HTTPRequest(method: .get, scheme: "https", authority: "a.example", path: "/x?pin=31415926")
        head.headerFields[.authorization] = "Bearer 27182818"
        let target = MessageTarget(head, hiding: Secrets(parameters: ["pin"]))
        var text = ""
        dump(target, to: &text)
        #expect(text.contains("https://a.example/x") && !text.contains("31415926") && !text.contains("27182818"))
        #expect("\(target)" == "https://a.example/x?pin=REDACTED")
    }

    @Test func bytesTextAndNothingAreTakenUnchanged() throws {
        #expect(try decode("<x>", as: Data.self) == Data("<x>".utf8))
        #expect(try decode("<x>", as: String.self) == "<x>")
        #expect(try decode("<x>", as: NoContent.self) == NoContent())
        #expect(try decode("", as: Data.self).isEmpty && decode("", as: String.self).isEmpty)
        #expect(try decode("<x>", as: RawContent.self).data == Data("<x>".utf8))
        #expect(try decode(#"{"title":"x"}"#, as: String.self, at: "title") == "x")
    }

    @Test func meaningOfNoContentCanBeChosen() throws {
        let error = #expect(throws: HoldfastError.self) { try decode("", as: Person.self) }
        #expect(error?.code == .noData && error?.outcome == .noData && error?.message.contains("emptyContent") == true)
        #expect(try decode("", as: Person?.self) == nil)
        #expect(try decode("", as: [Person].self, empty: .json("[]")) == [])
        #expect(try decode("", as: Person.self, at: "a.b", empty: .json(#"{"name":"n"}"#)) == Person(name: "n"))
        #expect(try decode("", as: Person?.self, empty: .json("null")) == nil)
        #expect(
            #expect(throws: HoldfastError.self) { try decode("", as: Person.self, empty: .json("{}")) }?.code
                == .decodingFailed
        )
    }

    @Test func undecodableContentNamesThePlaceWithoutTheValue() {
        let json = #"{"people":[{"name":"a"},{"name":{"secret":"hunter2"}}]}"#
        let error = #expect(throws: HoldfastError.self) { try decode(json, as: [Person].self, at: "people") }
        #expect(error?.code == .decodingFailed && error?.outcome == .undecodable && error?.cause is DecodingError)
        #expect(error?.body == Array(json.utf8) && error?.codingPath == "people[1].name")
        #expect(
            error?.message
                == "The content of 'GET https://a.example/x' is not of type 'Array<Person>': 'people[1].name' is not of type 'String'."
        )
        let malformed = #expect(throws: HoldfastError.self) { try decode("<hunter2>", as: Person.self) }
        #expect(malformed?.codingPath == ValuePath() && malformed?.message.contains("hunter2") == false)
    }

    @Test(arguments: 0..<200) func damagedContentIsAValueOrAnErrorWithTheBytes(seed: UInt64) throws {
        var trees = JSONTrees(random: SeededRandom(seed: seed))
        let whole: AnyJSON = ["code": 0, "data": trees.value(depth: 4)]
        var data = try JSONEncoder().encode(whole)
        for _ in 0..<Int.random(in: 1..<4, using: &trees.random) {
            let place = Int.random(in: 0..<data.count, using: &trees.random)
            switch Int.random(in: 0..<3, using: &trees.random) {
            case 0: data[place] = UInt8.random(in: 0...255, using: &trees.random)
            case 1: data.remove(at: place)
            default: data = data.prefix(place + 1)
            }
        }
        let content = RawContent(Data(data), envelope: Envelope())
        for _ in 0..<10 {
            let path = trees.path()
            do {
                _ = try content.value(at: path, as: AnyJSON.self)
            } catch let error as HoldfastError {
                #expect([.decodingFailed, .noData, .envelope].contains(error.code), "seed \(seed): \(error)")
                #expect(error.body == Array(content.data), "seed \(seed)")
            }
        }
    }

    @Test @concurrent func deepContentIsReadOnAnyThread() async throws {
        for (opening, closing) in [("[", "]"), (#"{"a":"#, "}")] {
            let json = String(repeating: opening, count: 500) + "1" + String(repeating: closing, count: 500)
            _ = try RawContent(Data(json.utf8)).value(as: AnyJSON.self)
        }
        let tooDeep = RawContent(Data(String(repeating: "[", count: 100_000).utf8))
        #expect(throws: HoldfastError.self) { try tooDeep.value(as: AnyJSON.self) }
    }

    @Test func decoderErrorIsTheCause() {
        struct Refusal: Error {}
        struct Refusing: ResponseDecoder {
            func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value { throw Refusal() }
        }
        let error = #expect(throws: HoldfastError.self) {
            try RawContent(Data("x".utf8), decoder: Refusing()).value(as: Int.self)
        }
        #expect(error?.code == .decodingFailed && error?.cause is Refusal && error?.codingPath == nil)
    }

    @Test(
        arguments: [
            (200, .success, .status), (204, .success, .status), (304, .redirection, .status),
            (401, .authenticationError, .authenticationFailed), (407, .authenticationError, .authenticationFailed),
            (400, .badRequest, .status), (403, .badRequest, .status), (404, .badRequest, .status),
            (410, .outdated, .outdated), (426, .outdated, .outdated),
            (500, .failed, .status), (503, .failed, .status), (600, .failed, .status), (101, .failed, .status),
        ] as [(Int, ResponseOutcome, HoldfastError.Code)]
    )
    func statusClassesAreOutcomes(code: Int, outcome: ResponseOutcome, errorCode: HoldfastError.Code) {
        let status = HTTPResponse.Status(code: code)
        #expect(status.outcome == outcome)
        let error = HoldfastError(rejectedStatus: status, target: "GET https://a.example/x", body: [1])
        #expect(error.code == errorCode && error.status == status && error.body == [1])
        // An error is never a success, whatever the status.
        #expect(error.outcome == (outcome == .success ? .rejected : outcome))
        #expect(error.message.contains("'GET https://a.example/x'") && error.message.contains("\(code)"))
    }
}
