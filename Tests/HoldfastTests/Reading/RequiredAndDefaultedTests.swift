import Foundation
import Holdfast
import Testing

/// Required properties, defaults, and exact identifiers.
@Suite(.timeLimit(.minutes(20))) struct RequiredAndDefaultedTests {
    enum Kind: String, Codable, DefaultProviding {
        case link = "URL"
        case photos = "PHOTOS"
        case other
        static let defaultValue = Kind.other
    }
    struct Moment: Codable, Equatable {
        @ExactInteger var id: Int64
        var title: String
        @Default<Fallback.False> var isLiked: Bool
        @Default<Fallback.Zero<Int>> var likes: Int
        @Default<Fallback.Empty<[String]>> var photos: [String]
        @Default<Fallback.EmptyDictionary<[String: Int]>> var counts: [String: Int]
        @Default<Fallback.EmptyString> var note: String
        @Default<Kind> var kind: Kind
        @ExactInteger var replyTo: UInt64?
    }

    private func moment(_ json: String) throws -> Moment {
        try JSONDecoder().decode(Moment.self, from: Data(json.utf8))
    }

    @Test func absentPropertiesKeepTheirDefaults() throws {
        for json in [
            #"{"id":1,"title":"t"}"#,
            #"{"id":"1","title":"t","isLiked":null,"likes":null,"photos":null,"counts":null,"note":null,"kind":null,"replyTo":null}"#,
        ] {
            let moment = try moment(json)
            #expect(moment.id == 1 && moment.title == "t" && !moment.isLiked && moment.likes == 0)
            #expect(moment.photos.isEmpty && moment.counts.isEmpty && moment.note.isEmpty)
            #expect(moment.kind == .other && moment.replyTo == nil)
        }
        let whole = try moment(#"{"id":1,"title":"t","isLiked":true,"photos":["a"],"kind":"URL","replyTo":"2"}"#)
        #expect(whole.isLiked && whole.photos == ["a"] && whole.kind == .link && whole.replyTo == 2)
    }

    @Test(arguments: [
        #"{"title":"t"}"#, #"{"id":1}"#, #"{"id":1,"title":null}"#, #"{"id":null,"title":"t"}"#,
        #"{"id":1,"title":"t","isLiked":"yes"}"#, #"{"id":1,"title":"t","kind":"NEW"}"#,
    ])
    func modelIsNeverIncomplete(json: String) {
        #expect(throws: DecodingError.self) { try moment(json) }
    }

    struct Identifiers: Codable, Equatable {
        @ExactInteger var signed: Int64
        @ExactInteger var unsigned: UInt64
        @ExactInteger var plain: Int
        @ExactInteger var maybe: Int64?
    }

    @Test(
        arguments: [
            (#"{"signed":9007199254740993,"unsigned":18446744073709551615,"plain":-1}"#, 9_007_199_254_740_993, nil),
            (#"{"signed":"9223372036854775807","unsigned":"18446744073709551615","plain":"-1","maybe":"7"}"#, .max, 7),
            (#"{"signed":-9223372036854775808,"unsigned":18446744073709551615,"plain":"-1","maybe":null}"#, .min, nil),
        ] as [(String, Int64, Int64?)]
    )
    func identifiersAreExactFromNumberOrString(json: String, signed: Int64, maybe: Int64?) throws {
        let value = try JSONDecoder().decode(Identifiers.self, from: Data(json.utf8))
        #expect(value.signed == signed && value.unsigned == .max && value.plain == -1 && value.maybe == maybe)
        let encoded = try JSONEncoder().encode(value)
        #expect(try JSONDecoder().decode(Identifiers.self, from: encoded) == value)
        #expect(String(decoding: encoded, as: UTF8.self).contains(#""signed":\#(signed)"#))
    }

    @Test(arguments: [
        "9223372036854775808", #""9223372036854775808""#, "1.5", #""1.5""#, #""+1""#, #""""#, #"" 1""#, #""1e3""#,
        "true", "null", "[]",
    ])
    func invalidIdentifierIsAnErrorAndNeverRounded(json: String) {
        struct One: Decodable { @ExactInteger var id: Int64 }
        let error = #expect(throws: HoldfastError.self) {
            try RawContent(Data(#"{"id":\#(json)}"#.utf8)).value(as: One.self)
        }
        #expect(error?.codingPath == "id")
    }

    @Test func missingIdentifierIsNamed() {
        struct One: Decodable { @ExactInteger var id: UInt64 }
        let error = #expect(throws: HoldfastError.self) { try RawContent(Data("{}".utf8)).value(as: One.self) }
        #expect(error?.codingPath == "id" && error?.message.hasSuffix("'id' is missing.") == true)
    }

    @Test func valuesCanBeMadeByHand() {
        let moment = Moment(
            id: 1,
            title: "t",
            isLiked: true,
            likes: 2,
            photos: [],
            counts: [:],
            note: "",
            kind: .link,
            replyTo: nil
        )
        #expect(moment.isLiked && moment.likes == 2)
    }
}
