import Foundation
import Holdfast
import HoldfastTesting
import Testing

@Suite(.timeLimit(.minutes(20))) struct JSONValueTests {
    /// Each row is one meaning in all the ways in which APIs write it; two rows never mean the
    /// same.
    private static let senses: [[AnyJSON]] = [
        [0, 0.0, "0", "0.0", "-0", "0e5", false, "false", "FALSE", .unsigned(0), .number(-0.0)],
        [1, 1.0, "1", "1.0", true, "true", "True", "10e-1", .unsigned(1)],
        [200, 200.0, "200", "2e2", "200.00"],
        [-1, "-1", -1.0],
        ["0000"], ["00"], ["+1"], ["1."], [".5"], [" 1"], ["0x1"], ["nan"], ["inf"], ["1e999"], [""], ["-"],
        ["OK"], ["ok"], ["yes"],
        [0.5, "0.5", "5e-1"],
        [.integer(.max), "9223372036854775807", .unsigned(9_223_372_036_854_775_807)],
        [.integer(.max - 1), "9223372036854775806"],
        [.unsigned(.max), "18446744073709551615"],
        ["18446744073709551616"], ["18446744073709551617"],
        [nil], [[]], [[1]], [["a": 1]], [["a": "1"]],
    ]

    @Test func successComparesAcrossBooleanNumberAndString() {
        for (row, values) in Self.senses.enumerated() {
            for (otherRow, others) in Self.senses.enumerated() {
                for value in values {
                    for other in others {
                        #expect(value.means(other) == (row == otherRow), "\(value) \(other)")
                    }
                }
            }
        }
    }

    @Test(arguments: 0..<100) func valuesAreReadAsWritten(seed: UInt64) throws {
        var trees = JSONTrees(random: SeededRandom(seed: seed))
        let tree = trees.value(depth: 5)
        #expect(try JSONDecoder().decode(AnyJSON.self, from: JSONEncoder().encode(tree)) == tree, "seed \(seed)")
        #expect(tree.means(tree))
    }

    @Test func integersKeepAllTheirDigits() throws {
        let text = "[9007199254740993, -9223372036854775808, 18446744073709551615, 1.5, 1e400]"
        #expect(throws: (any Error).self) { try JSONDecoder().decode(AnyJSON.self, from: Data(text.utf8)) }
        let exact = text.replacing(", 1e400", with: "")
        #expect(
            try JSONDecoder().decode(AnyJSON.self, from: Data(exact.utf8))
                == [9_007_199_254_740_993, .integer(.min), .unsigned(.max), 1.5]
        )
    }
}
