import Foundation
import HoldfastTesting
import Testing

@testable import Holdfast

/// The position of a value in JSON text.
@Suite(.timeLimit(.minutes(20))) struct JSONLocatorTests {
    private static func range(_ path: ValuePath, _ text: String, _ decoder: JSONDecoder = JSONDecoder()) -> String? {
        let data = Data(text.utf8)
        return JSONLocator(data: data, decoder: decoder).range(of: path).map {
            String(decoding: data[$0], as: UTF8.self)
        }
    }

    @Test(arguments: [JSONEncoder.OutputFormatting(), .prettyPrinted, [.prettyPrinted, .withoutEscapingSlashes]])
    func everyValueIsFoundAndCanBeReplaced(formatting: JSONEncoder.OutputFormatting) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = formatting
        for seed in 0..<200 as Range<UInt64> {
            var trees = JSONTrees(random: SeededRandom(seed: seed))
            let tree = trees.value(depth: 4)
            let data = try encoder.encode(tree)
            for (path, value) in JSONTrees.places(in: tree) {
                let found = JSONLocator(data: data, decoder: JSONDecoder()).range(of: path)
                let range = try #require(found, "seed \(seed), '\(path)'")
                #expect(try JSONDecoder().decode(AnyJSON.self, from: data[range]) == value, "seed \(seed), '\(path)'")
                var changed = data
                changed.replaceSubrange(range, with: Data(#"{"new":[]}"#.utf8))
                let whole = try JSONDecoder().decode(AnyJSON.self, from: changed)
                #expect(whole[path] == ["new": []], "seed \(seed), '\(path)'")
            }
            // A path that the value does not have is not found in its text.
            for _ in 0..<20 {
                let path = trees.path()
                let isFound = JSONLocator(data: data, decoder: JSONDecoder()).range(of: path) != nil
                #expect(isFound == (tree[path] != nil), "seed \(seed), '\(path)'")
            }
        }
    }

    @Test func spaceAroundAValueIsNotIncluded() {
        let text = "\t{ \"a\" :\r\n [ 1 , { \"b\" : \"x\" } , null ] }\n"
        #expect(Self.range("a[1].b", text) == "\"x\"")
        #expect(Self.range("a[2]", text) == "null")
        #expect(Self.range("a[1]", text) == "{ \"b\" : \"x\" }")
        #expect(Self.range("a[3]", text) == nil)
    }

    @Test func namesFollowTheDecodersKeyStrategy() {
        let snake = JSONDecoder()
        snake.keyDecodingStrategy = .convertFromSnakeCase
        #expect(Self.range("userName", #"{"user_name":1,"x":2}"#, snake) == "1")
        #expect(Self.range("userName", #"{"user_name":1,"x":2}"#) == nil)
        #expect(Self.range("a/b", #"{"a\/b":1}"#) == "1")
        #expect(Self.range("ü", #"{"\u00fc":1}"#) == "1")
    }

    @Test(arguments: [#"{"a":1,"a":2}"#, #"{"a":1,"\u0061":2}"#]) func duplicateNameIsNotFound(text: String) {
        #expect(Self.range("a", text) == nil)
    }

    /// Random bytes and cut text give no position or one, but the search ends.
    @Test func malformedTextDoesNotCrash() {
        var random = SeededRandom(seed: 7)
        let text = Array(#"{"a":[1,{"b":"\\\""},[]],"c":-1.5e3}"#.utf8)
        for end in 0...text.count {
            for path in ["a", "a[1].b", "c", "a[2]", ""] as [ValuePath] {
                _ = JSONLocator(data: Data(text[..<end]), decoder: JSONDecoder()).range(of: path)
                let alphabet = Array("{}[],:\"\\a1 ".utf8)
                let noise = (0..<end).map { _ in alphabet[Int(random.next() % UInt64(alphabet.count))] }
                _ = JSONLocator(data: Data(noise), decoder: JSONDecoder()).range(of: path)
            }
        }
    }
}
