import HTTPTypes
import HoldfastTesting
import NIOCore
import TestSupport
import Testing

@testable import HTTPCache

/// The form in which JSON content is keyed.
@Suite(.timeLimit(.minutes(20))) struct CanonicalJSONTests {
    private func text(_ json: String, _ ignored: [String] = []) -> String? {
        (try? CanonicalJSON(Array(json.utf8), ignoring: MemberPaths(ignored))).map {
            String(decoding: $0.text, as: UTF8.self)
        }
    }

    private func refusal(_ json: [UInt8]) -> CanonicalJSON.Refusal? {
        do throws(CanonicalJSON.Refusal) {
            _ = try CanonicalJSON(json, ignoring: MemberPaths([]))
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: [
        ("null", "null"), (" [ true , false ] ", "[true,false]"), ("{}", "{}"), ("[]", "[]"), ("\"a\"", "\"a\""),
        (#"{"b":1,"a":2}"#, #"{"a":2,"b":1}"#),
        (#"{"b":{"d":1,"c":[{"f":0,"e":0}]},"a":2}"#, #"{"a":2,"b":{"c":[{"e":0,"f":0}],"d":1}}"#),
        (#"{"\u0061":"\u0062\/"}"#, #"{"a":"b/"}"#),
        (#""\u0000\u001F\b\t\n\f\r\"\\""#, #""\u0000\u001f\b\t\n\f\r\"\\""#),
        (#""\ud83d\ude00\u00e9""#, "\"\u{1F600}\u{E9}\""), ("[1.0,1,-0,1e2,1E+2,0.10]", "[1.0,1,-0,1e2,1E+2,0.10]"),
        ("[9007199254740993,123456789012345678901234567890]", "[9007199254740993,123456789012345678901234567890]"),
    ])
    func formIsCanonical(_ json: String, _ expected: String) { #expect(text(json) == expected) }

    /// The example of RFC 8785 §3.2.3. Names are sorted by UTF-16 code units: the surrogates of the
    /// emoji come before U+FB33, although its scalar is larger.
    @Test func membersAreSortedAsInRFC8785() {
        let names = [#"\u20ac"#, #"\r"#, #"\ufb33"#, "1", #"\ud83d\ude00"#, #"\u0080"#, #"\u00f6"#]
        let json = "{" + names.map { "\"\($0)\":0" }.joined(separator: ",") + "}"
        let sorted = ["\\r", "1", "\u{80}", "\u{F6}", "\u{20AC}", "\u{1F600}", "\u{FB33}"]
        #expect(text(json) == "{" + sorted.map { "\"\($0)\":0" }.joined(separator: ",") + "}")
    }

    /// Mutant: numbers are rounded to doubles, as RFC 8785 does.
    @Test func idsAbove2To53NeverShareADigest() throws {
        var digests: Set<[UInt8]> = []
        for id in 0..<1000 {
            let json = #"{"id":\#(9_007_199_254_740_992 + id)}"#
            digests.insert(try CanonicalJSON(Array(json.utf8), ignoring: MemberPaths([])).sha256)
        }
        #expect(digests.count == 1000)
    }

    @Test func digestIsTheSHA256OfTheForm() throws {
        let json = try CanonicalJSON(Array(#"{ "b": 1, "a": 2 }"#.utf8), ignoring: MemberPaths([]))
        // printf '{"a":2,"b":1}' | sha256sum
        #expect(json.sha256.hexadecimal == "d3626ac30a87e6f7a6428233b3c68299976865fa5508e4267c5415c76af7a772")
    }

    @Test(arguments: [
        (#"{"a":1,"a":2}"#, CanonicalJSON.Refusal.repeated("a")), (#"{"a":1,"b":0,"\u0061":1}"#, .repeated("a")),
        (#"[{"x":{"b":1,"a":0,"b":1}}]"#, .repeated("b")), ("", .notJSON), ("{", .notJSON), ("1 2", .notJSON),
        ("\u{FEFF}1", .notJSON), (#""\ud83d""#, .notJSON), (#""\ude00""#, .notJSON), (#"{"\ud83d":1}"#, .notJSON),
        ("[1e999]", .notJSON), ("[01]", .notJSON), ("NaN", .notJSON), ("{'a':1}", .notJSON), ("[1,]", .notJSON),
    ])
    func unclearTextHasNoForm(_ json: String, _ expected: CanonicalJSON.Refusal) {
        #expect(refusal(Array(json.utf8)) == expected)
    }

    /// Two names that are equal as text, but not as bytes, are two names.
    @Test func namesAreComparedByTheirBytes() {
        #expect(text("{\"e\u{301}\":1,\"\u{E9}\":2}") == "{\"e\u{301}\":1,\"\u{E9}\":2}")
        #expect(text("{\"e\u{301}\":1,\"\u{E9}\":2}", ["\u{E9}"]) == "{\"e\u{301}\":1}")
    }

    @Test(
        arguments: [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xE2, 0x82]] as [[UInt8]]
    )
    func invalidUTF8HasNoForm(_ bytes: [UInt8]) {
        #expect(refusal([0x22] + bytes + [0x22]) == .notJSON)
        #expect(refusal(Array(#"{""#.utf8) + bytes + Array(#"":1}"#.utf8)) == .notJSON)
    }

    @Test func depthAndValuesAreLimited() {
        func lists(_ depth: Int) -> [UInt8] {
            Array((String(repeating: "[", count: depth) + String(repeating: "]", count: depth)).utf8)
        }
        #expect(refusal(lists(CanonicalJSON.maximumDepth)) == nil)
        #expect(refusal(lists(CanonicalJSON.maximumDepth + 1)) == .tooDeep)
        #expect(refusal(lists(1 << 20)) == .tooDeep)
        func values(_ count: Int) -> [UInt8] {
            Array("[\(Array(repeating: "1", count: count).joined(separator: ","))]".utf8)
        }
        #expect(refusal(values(CanonicalJSON.maximumCount - 1)) == nil)
        #expect(refusal(values(CanonicalJSON.maximumCount)) == .tooManyValues)
    }

    // MARK: Ignored members

    @Test(
        arguments: [
            (["user"], #"{"user":"a","model":"m"}"#, #"{"model":"m"}"#),
            (["user"], #"{"model":"m","user":{"id":1}}"#, #"{"model":"m"}"#),
            (["user"], #"{"user":1}"#, "{}"), (["user"], #"{"a":{"user":1}}"#, #"{"a":{"user":1}}"#),
            (["user"], #"[{"user":1}]"#, #"[{"user":1}]"#), (["user"], #"{"User":1}"#, #"{"User":1}"#),
            (["b", "d"], #"{"d":1,"c":2,"b":3,"a":4}"#, #"{"a":4,"c":2}"#),
            (["metadata.trace"], #"{"metadata":{"trace":1,"kind":2}}"#, #"{"metadata":{"kind":2}}"#),
            (["metadata.trace", "metadata"], #"{"metadata":{"trace":1,"kind":2},"a":0}"#, #"{"a":0}"#),
            (
                ["messages[*].id"], #"{"messages":[{"id":1,"text":"a"},{"text":"b","id":2}]}"#,
                #"{"messages":[{"text":"a"},{"text":"b"}]}"#
            ),
            (["messages[*].id"], #"{"messages":{"id":1}}"#, #"{"messages":{"id":1}}"#),
            (["[*].id"], #"[{"id":1,"a":2}]"#, #"[{"a":2}]"#),
            (["a[*][*]"], #"{"a":[[1,2],3]}"#, #"{"a":[[null,null],3]}"#),
            (["us\u{65}r"], #"{"\u0075ser":1}"#, "{}"),
        ] as [([String], String, String)]
    )
    func ignoredMembersAreLeftOut(_ ignored: [String], _ json: String, _ expected: String) {
        #expect(text(json, ignored) == expected)
    }

    /// Content that is unclear only in an ignored member is still unclear.
    @Test(arguments: [#"{"user":{"a":1,"a":2}}"#, #"{"user":1,"a":2,"user":3}"#, #"{"user":"\ud83d"}"#])
    func ignoredMembersAreReadToo(_ json: String) { #expect(text(json, ["user"]) == nil) }

    @Test(arguments: [
        ("user", true), ("a.b", true), ("a[*].b", true), ("[*]", true), ("a[*][*]", true), ("$ref", true), ("", false),
        (".", false), ("a.", false), (".a", false), ("a..b", false), ("a[0]", false), ("a[]", false), ("a[*]b", false),
        ("a*", false), ("a b", false), ("a.[*]", false), ("\"a\"", false), ("a\u{0}", false),
        (String(repeating: "a", count: 256), true), (String(repeating: "a", count: 257), false),
        (String(repeating: "[*]", count: 16), true), (String(repeating: "[*]", count: 17), false),
    ])
    func pathsAreChecked(_ path: String, _ isPath: Bool) { #expect(MemberPaths.isPath(path) == isPath) }

    // MARK: Properties

    /// Order and white space never change the form; any change of a kept member does.
    ///
    /// Mutant: members are not sorted. Mutant: a list is sorted, too.
    @Test(arguments: 0..<200 as Range<UInt64>) func onlyKeptMembersDecide(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let value = RandomJSON.object(depth: 3, &random)
        let ignored = ["ignored", "list[*].ignored"]
        let json = value.written(&random)
        let form = try #require(text(json, ignored), "seed \(seed)")
        for _ in 0..<10 {
            let again = value.written(&random)
            #expect(text(again, ignored) == form, "seed \(seed)")
            let other = value.ignoring(&random).written(&random)
            #expect(text(other, ignored) == form, "seed \(seed)")
            let changed = value.changed(&random).written(&random)
            #expect(text(changed, ignored) != form, "seed \(seed)")
        }
        #expect(text(form, ignored) == form, "the form is its own form; seed \(seed)")
        #expect(form.utf8.count <= json.utf8.count)
    }

    /// Mutant: an object's members are compared with all others.
    @Test(arguments: ["members", "nested", "names", "escapes", "numbers"]) func noContentHoldsALoop(kind: String) async
    {
        let limit = 1 << 20
        func repeated(_ part: (Int) -> String, _ start: String, _ end: String, most: Int = 32_000) -> String {
            var text = start
            for number in 0..<most where text.utf8.count < limit - 200 { text += part(number) }
            return text + end
        }
        let json =
            switch kind {
            case "members": repeated({ #""\#(1_000_000 - $0)":1,"# }, "{", #""a":1}"#)
            case "nested":
                String(repeating: #"{"b":1,"a":"#, count: 60) + "\"" + String(repeating: "x", count: 1 << 19) + "\""
                    + String(repeating: "}", count: 60)
            case "names": repeated({ #""\#(String(repeating: "a", count: 100))\#($0 % 7)\#($0)":1,"# }, "{", #""a":1}"#)
            case "escapes": repeated({ _ in #"\u0061\u00e9"# }, "\"", "\"")
            default: repeated({ _ in "1234567890.123e-5," }, "[", "1]")
            }
        let bytes = Array(json.utf8)
        let slow = await ProcessorTime.stepsOverLimit {
            $0.add(kind, ProcessorTime.of { _ = try? CanonicalJSON(bytes, ignoring: MemberPaths(["x"])) })
        }
        #expect(slow.isEmpty, "\(slow)")
    }
}

/// A JSON value that can be written in several ways.
private indirect enum RandomJSON {
    case text(String)
    case number(String)
    case list([RandomJSON])
    case members([(name: String, value: RandomJSON)])

    static func object(depth: Int, _ random: inout SeededRandom) -> RandomJSON {
        var members: [(name: String, value: RandomJSON)] = []
        for name in ["a", "b", "ab", "\u{E9}", "ignored", "kept"] where Bool.random(using: &random) || name == "kept" {
            members.append((name, value(depth: depth - 1, &random)))
        }
        let items = (0..<Int.random(in: 1...3, using: &random)).map { _ in
            RandomJSON.members([("ignored", .number("1")), ("kept", value(depth: depth - 2, &random))])
        }
        members.append(("list", .list(items)))
        return .members(members)
    }

    private static func value(depth: Int, _ random: inout SeededRandom) -> RandomJSON {
        switch Int.random(in: 0..<(depth > 0 ? 4 : 2), using: &random) {
        case 0: .text("t\(UInt8.random(in: 0...255, using: &random))\"\n\u{1F600}")
        case 1: .number("\(UInt64.random(in: 1 << 53...UInt64.max, using: &random))")
        case 2:
            .list((0..<Int.random(in: 0...3, using: &random)).map { _ in value(depth: depth - 1, &random) })
        default:
            .members([("x", value(depth: depth - 1, &random)), ("y", value(depth: depth - 1, &random))])
        }
    }

    /// Written with members in any order, any white space and any escapes.
    func written(_ random: inout SeededRandom) -> String {
        func space() -> String { ["", " ", "\n", "\t\r "].randomElement(using: &random) ?? "" }
        func string(_ text: String) -> String {
            let isEscaped = Bool.random(using: &random)
            return "\""
                + text.unicodeScalars.map { scalar in
                    switch scalar {
                    case "\"": "\\\""
                    case "\n": isEscaped ? "\\u000A" : "\\n"
                    case "\u{1F600}": isEscaped ? "\\uD83D\\uDE00" : "\u{1F600}"
                    default: isEscaped && scalar == "a" ? "\\u0061" : String(scalar)
                    }
                }
                .joined() + "\""
        }
        switch self {
        case .text(let text): return space() + string(text) + space()
        case .number(let number): return space() + number + space()
        case .list(let items): return space() + "[" + items.map { $0.written(&random) }.joined(separator: ",") + "]"
        case .members(let members):
            let parts = members.shuffled(using: &random).map {
                space() + string($0.name) + space() + ":" + $0.value.written(&random)
            }
            return "{" + parts.joined(separator: ",") + space() + "}"
        }
    }

    /// With another value of the ignored members, or without them.
    func ignoring(_ random: inout SeededRandom) -> RandomJSON {
        guard case .members(let members) = self else { return self }
        var result = members.filter { $0.name != "ignored" }
        if Bool.random(using: &random) { result.append(("ignored", Self.value(depth: 1, &random))) }
        return .members(
            result.map { member -> (name: String, value: RandomJSON) in
                guard member.name == "list", case .list(let items) = member.value else { return member }
                let changed = items.map { item -> RandomJSON in
                    guard case .members(let members) = item else { return item }
                    return .members(members.filter { $0.name != "ignored" })
                }
                return (member.name, .list(changed))
            }
        )
    }

    /// With another value of one kept member, or with other names or items.
    func changed(_ random: inout SeededRandom) -> RandomJSON {
        guard case .members(var members) = self else { return self }
        let kept = members.indices.filter { members[$0].name != "ignored" }
        guard let place = kept.randomElement(using: &random) else { return self }
        switch Int.random(in: 0..<4, using: &random) {
        case 0: members[place].name += "'"
        case 1: members.remove(at: place)
        case 2: members.append(("new", .number("0")))
        default: members[place].value = .list([members[place].value])
        }
        return .members(members)
    }
}
