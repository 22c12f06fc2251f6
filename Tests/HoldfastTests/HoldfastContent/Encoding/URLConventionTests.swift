import HoldfastTesting
import Testing

@testable import Holdfast

/// How parameters are written in queries and forms.
@Suite(.timeLimit(.minutes(20))) struct URLConventionTests {
    private static let nested: RequestParameters = ["f": .object(["b": ["x": 1], "a": .array([true, nil, "y z"])])]

    @Test(arguments: [
        (URLParameterEncoder(), "f%5Ba%5D=true&f%5Ba%5D=y%20z&f%5Bb%5D%5Bx%5D=1"),
        (
            URLParameterEncoder(arrays: .brackets),
            "f%5Ba%5D%5B%5D=true&f%5Ba%5D%5B%5D=y%20z&f%5Bb%5D%5Bx%5D=1"
        ),
        (
            URLParameterEncoder(arrays: .indexed, booleans: .digits),
            "f%5Ba%5D%5B0%5D=1&f%5Ba%5D%5B2%5D=y%20z&f%5Bb%5D%5Bx%5D=1"
        ),
        (URLParameterEncoder(arrays: .commaJoined, spaces: .plus), "f%5Ba%5D=true,y+z&f%5Bb%5D%5Bx%5D=1"),
        (URLParameterEncoder(nesting: .dots), "f.a=true&f.a=y%20z&f.b.x=1"),
        (URLParameterEncoder(arrays: .indexed, nesting: .dots), "f.a.0=true&f.a.2=y%20z&f.b.x=1"),
    ])
    func eachConventionIsWrittenAsNamed(encoder: URLParameterEncoder, expected: String) throws {
        #expect(try encoder.query(Self.nested) == expected)
    }

    @Test func literalPlusIsNoSpace() throws {
        #expect(try URLParameterEncoder(spaces: .plus).query(["a": "1 + 1"]) == "a=1+%2B+1")
        #expect(try URLParameterEncoder().query(["a": "1 + 1"]) == "a=1%20%2B%201")
    }

    @Test func joiningCommasAreNoPartOfAnElement() throws {
        let encoder = URLParameterEncoder(arrays: .commaJoined)
        #expect(try encoder.query(["a": ["1,2", "3"]]) == "a=1%2C2,3")
        #expect(try encoder.query(["a": ["1", "2,3"]]) == "a=1,2%2C3")
        #expect(try encoder.query(["a": .array([]), "b": .array([nil])]) == "")
        #expect(throws: HoldfastError.self) { try encoder.query(["a": [["1"]]]) }
        #expect(throws: HoldfastError.self) { try encoder.query(["a": [["x": 1]]]) }
    }

    @Test func nestedNameCannotImitateADeeperOne() throws {
        #expect(throws: HoldfastError.self) { try URLParameterEncoder().query(["f": ["x][admin": 1]]) }
        #expect(throws: HoldfastError.self) { try URLParameterEncoder(nesting: .dots).query(["f": ["x.admin": 1]]) }
        #expect(try URLParameterEncoder().query(["f": ["x.y": 1]]) == "f%5Bx.y%5D=1")
        #expect(try URLParameterEncoder(nesting: .dots).query(["f": ["x[y]": 1]]) == "f.x%5By%5D=1")
    }

    @Test(
        arguments: [
            (["a|b": "c"], ["a": "b|c"]), (["a": "1&b=2"], ["a": "1", "b": "2"]), (["a=b": "c"], ["a": "b=c"]),
            (["a[]": "b"], ["a": "[]b"]), (["a": "b#c"], ["a": "b"]), (["a": "%26"], ["a": "&"]),
            (["a": "+"], ["a": " "]),
            (["a": "e\u{301}"], ["a": "\u{e9}"]), (["a": ""], [:]),
        ] as [(RequestParameters, RequestParameters)]
    )
    func noDelimiterIsInjected(one: RequestParameters, other: RequestParameters) throws {
        for encoder in Self.encoders {
            #expect(try encoder.query(one) != encoder.query(other))
        }
    }

    private static let encoders: [URLParameterEncoder] = {
        var encoders: [URLParameterEncoder] = []
        for arrays in [URLParameterEncoder.Arrays.repeated, .brackets, .indexed, .commaJoined] {
            for nesting in [URLParameterEncoder.Nesting.brackets, .dots] {
                for spaces in [URLParameterEncoder.Spaces.percent, .plus] {
                    encoders.append(URLParameterEncoder(arrays: arrays, nesting: nesting, spaces: spaces))
                }
            }
        }
        return encoders
    }()

    /// Names and values from characters that delimit, escape, compose and sort in odd ways.
    private static let alphabet = [
        "a", "b", "&", "=", "|", "%", "+", " ", "#", "?", ",", ";", "/", "e\u{301}", "\u{e9}", "\u{0}", "\n", "😀", "",
    ]

    private static func text(_ random: inout SeededRandom) -> String {
        (0..<Int.random(in: 0...4, using: &random)).map { _ in alphabet.randomElement(using: &random) ?? "" }.joined()
    }

    @Test(arguments: [1, 2, 3, 4, 5, 6, 7, 8] as [UInt64])
    func parametersAreReadBackUnchanged(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        for _ in 0..<20 {
            var given: [String: String] = [:]
            for _ in 0..<Int.random(in: 0...6, using: &random) {
                given[Self.text(&random)] = Self.text(&random)
            }
            for encoder in Self.encoders {
                let query = try encoder.query(RequestParameters(given.mapValues { .string($0) }))
                // Compares bytes, not characters: Swift treats composed and decomposed letters as
                // equal.
                let read = Self.pairs(query, plusIsSpace: encoder.spaces == .plus)
                let expected = given.map { [Array($0.key.utf8), Array($0.value.utf8)] }
                    .sorted { $0[0].lexicographicallyPrecedes($1[0]) }
                #expect(read == expected, "seed \(seed): \(query)")
                let isClean = query.utf8.allSatisfy { "-._~%&=+,".utf8.contains($0) || Self.isLetterOrDigit($0) }
                #expect(isClean, "seed \(seed): \(query)")
            }
        }
    }

    @Test(arguments: [11, 12, 13, 14] as [UInt64])
    func orderOfInsertionDoesNotMatter(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let names = (0..<12).map { "\($0)\(["a", "é", "Z", "_"].randomElement(using: &random) ?? "")" }
        var expected: [String]?
        for _ in 0..<6 {
            var parameters = RequestParameters()
            for name in names.shuffled(using: &random) {
                var inner = RequestParameters()
                for name in names.shuffled(using: &random) { inner[name] = .array([.string(name), 1]) }
                parameters[name] = .object(inner)
            }
            var written = try Self.encoders.map { try $0.query(parameters) }
            written.append(String(decoding: try JSONContentEncoder().encode(parameters), as: UTF8.self))
            written.append(String(decoding: try FormContentEncoder().encode(parameters), as: UTF8.self))
            #expect(written == expected ?? written, "seed \(seed)")
            expected = written
        }
    }

    /// An independent reader: splits first, then decodes.
    private static func pairs(_ query: String, plusIsSpace: Bool) -> [[[UInt8]]] {
        query.isEmpty
            ? []
            : query.utf8.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false).map { pair in
                pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false).map { text in
                    var bytes: [UInt8] = []
                    var rest = text[...]
                    while let byte = rest.popFirst() {
                        if byte == UInt8(ascii: "%") {
                            bytes.append(UInt8(String(Substring(rest.prefix(2))), radix: 16) ?? 0)
                            rest = rest.dropFirst(2)
                        } else {
                            bytes.append(plusIsSpace && byte == UInt8(ascii: "+") ? 0x20 : byte)
                        }
                    }
                    return bytes
                }
            }
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        (byte | 0x20) &- 0x61 < 26 || byte &- 0x30 < 10
    }
}
