import Foundation
import Holdfast
import HoldfastTesting
import Testing

@testable import Holdfast

@Suite(.timeLimit(.minutes(20))) struct ValuePathTests {
    typealias Step = ValuePath.Step

    @Test(
        arguments: [
            ("", []),
            ("data", [.name("data")]),
            ("data.items[0].id", [.name("data"), .name("items"), .index(0), .name("id")]),
            ("data.items.0.id", [.name("data"), .name("items"), .index(0), .name("id")]),
            ("[3][4]", [.index(3), .index(4)]),
            ("a.[3].b", [.name("a"), .index(3), .name("b")]),
            ("a..b.", [.name("a"), .name("b")]),
            ("a[].b", [.name("a"), .name(""), .name("b")]),
            (#"a\.b.c"#, [.name("a.b"), .name("c")]),
            (#"a\[0]"#, [.name("a[0]")]),
            (#"\0.\\"#, [.name("0"), .name(#"\"#)]),
            ("007.-1", [.name("007"), .name("-1")]),
            ("a[b].c[1", [.name("a[b]"), .name("c[1")]),
            ("99999999999999999999", [.name("99999999999999999999")]),
            ("error>errMsg", [.name("error>errMsg")]),
        ] as [(String, [Step])]
    )
    func textIsReadAsSteps(text: String, steps: [Step]) {
        #expect(ValuePath(text).steps == steps)
        #expect(ValuePath(ValuePath(text).description).steps == steps)
    }

    @Test func anotherSeparatorLeavesDotsAlone() {
        #expect(ValuePath("error>err.msg>0", separator: ">").steps == [.name("error"), .name("err.msg"), .index(0)])
        #expect(ValuePath("error/code", separator: "/") == "error.code")
    }

    @Test(arguments: 0..<300) func descriptionIsReadAsTheSamePath(seed: UInt64) {
        var trees = JSONTrees(random: SeededRandom(seed: seed))
        let path = trees.path()
        #expect(ValuePath(path.description) == path, "seed \(seed): \(path)")
    }

    @Test(arguments: 0..<300) func anyTextIsAPath(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let text = String((0..<12).map { _ in ".[]\\a0>9".randomElement(using: &random) ?? "a" })
        for separator: Character in [".", ">"] {
            let path = ValuePath(text, separator: separator)
            #expect(ValuePath(path.description) == path, "seed \(seed): \(text)")
        }
    }

    @Test func indexBeyondTheArrayIsMissing() throws {
        let content = RawContent(Data("[1,2]".utf8))
        for index in [2, Int.max, -1, .min] {
            #expect(try content.value(at: ValuePath([.index(index)]), as: Int?.self) == nil)
        }
    }

    @Test(arguments: 0..<200) func everyValueIsReadAtItsPath(seed: UInt64) throws {
        var trees = JSONTrees(random: SeededRandom(seed: seed))
        let tree = trees.value(depth: 4)
        let content = RawContent(try JSONEncoder().encode(tree))
        for (path, value) in JSONTrees.places(in: tree) {
            #expect(tree[path] == value, "seed \(seed), \(path)")
            #expect(try content.value(at: path, as: AnyJSON.self) == value, "seed \(seed), \(path)")
            #expect(try content.value(at: ValuePath(path.description)) == value, "seed \(seed), \(path)")
        }
    }

    @Test(arguments: 0..<200) func missingValueIsAnErrorThatNamesThePath(seed: UInt64) throws {
        var trees = JSONTrees(random: SeededRandom(seed: seed))
        let tree = trees.value(depth: 4)
        let content = RawContent(try JSONEncoder().encode(tree))
        for _ in 0..<20 {
            let path = trees.path()
            if let value = tree[path] {
                #expect(try content.value(at: path, as: AnyJSON.self) == value, "seed \(seed), \(path)")
                continue
            }
            let error = #expect(throws: HoldfastError.self) { try content.value(at: path, as: AnyJSON.self) }
            let place = try #require(error?.codingPath, "seed \(seed), \(path)")
            #expect(error?.code == .decodingFailed && path.steps.starts(with: place.steps) || tree[place] != nil)
            #expect(error?.body == Array(content.data))
        }
    }

    private let content = RawContent(
        Data(
            """
            {"data": {"items": [{"id": 9007199254740993, "tag": null}, {"id": 18446744073709551615}], "0": "zero", "": "empty",
            "on": true, "at": "2026-01-02T03:04:05Z", "a.b": [[1], [2, 3]], "none": null}}
            """.utf8
        )
    )

    @Test func objectsArraysOptionalsAndBareValuesAreRead() throws {
        struct Item: Decodable, Equatable { var id: UInt64 }
        #expect(try content.value(at: "data.items", as: [Item].self).map(\.id) == [9_007_199_254_740_993, .max])
        #expect(try content.value(at: "data.items[1]", as: Item.self) == Item(id: .max))
        #expect(try content.value(at: "data.items.0.id", as: Int64.self) == 9_007_199_254_740_993)
        #expect(try content.value(at: "data.0", as: String.self) == "zero")
        #expect(try content.value(at: "data[]", as: String.self) == "empty")
        #expect(try content.value(at: #"data.a\.b[1]"#, as: [Int].self) == [2, 3])
        #expect(try content.value(at: "data.on", as: Bool.self))
        // Dates in the decoder's own form, not in that of `Date`.
        #expect(try content.value(at: "data.at", as: Date.self).timeIntervalSince1970 == 1_767_323_045)
        #expect(try content.value(at: "data.at", as: Date?.self)?.timeIntervalSince1970 == 1_767_323_045)
        #expect(try RawContent(Data("[1.5]".utf8)).value(at: "[0]", as: Double.self) == 1.5)
        #expect(try RawContent(Data("7".utf8)).value(as: Int.self) == 7)
    }

    @Test(arguments: [
        "data.none", "data.none.x", "data.missing", "missing.id", "data.items[2].id", "data.items[0].tag",
    ])
    func missingOrNullIsNilForAnOptional(path: String) throws {
        #expect(try content.value(at: ValuePath(path), as: Int?.self) == nil)
        #expect(throws: HoldfastError.self) { try content.value(at: ValuePath(path), as: Int.self) }
    }

    @Test(arguments: [
        ("data.items[2].id", "data.items[2]", "'data.items[2]' is missing; 'data.items[2].id' was requested."),
        ("data.name", "data.name", "'data.name' is missing."),
        ("data.none.x", "data.none", "'data.none' is null where 'Int' is required; 'data.none.x' was requested."),
        ("data.on", "data.on", "'data.on' is not of type 'Int'."),
    ])
    func errorNamesTheWholePath(path: String, place: String, message: String) {
        let error = #expect(throws: HoldfastError.self) { try content.value(at: ValuePath(path), as: Int.self) }
        #expect(error?.codingPath == ValuePath(place))
        #expect(error?.message == "The content of 'content' is not of type 'Int': \(message)")
    }

    @Test func faultWithinTheValueIsNamedFromTheTop() {
        struct Item: Decodable { var id: String }
        let error = #expect(throws: HoldfastError.self) { try content.value(at: "data.items", as: [Item].self) }
        #expect(error?.codingPath == "data.items[0].id")
        #expect(error?.message.contains("9007199254740993") == false)
    }

    @Test func anyDecoderWalksPaths() throws {
        struct PropertyLists: ResponseDecoder {
            func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
                try PropertyListDecoder().decode(type, from: data)
            }
        }
        let data = try PropertyListEncoder().encode(["data": [["id": 1], ["id": 2]]])
        let content = RawContent(data, decoder: PropertyLists())
        #expect(try content.value(at: "data[1].id", as: Int.self) == 2)
        #expect(throws: HoldfastError.self) { try content.value(at: "data[2].id", as: Int.self) }
        #expect(try content.value(at: "data[2].id", as: Int?.self) == nil)
    }

    @Test func namesFollowTheDecodersKeyStrategy() throws {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        let content = RawContent(Data(#"{"user_details": {"first_name": "A"}}"#.utf8), decoder: decoder)
        #expect(try content.value(at: "userDetails.firstName", as: String.self) == "A")
        #expect(try content.value(at: "userDetails", as: AnyJSON.self) == ["first_name": "A"])
    }
}
