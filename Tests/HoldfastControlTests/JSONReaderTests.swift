import Foundation
import HTTPCache
import HoldfastTesting
import TestSupport
import Testing

@testable import HoldfastControl

/// The content of requests of the control plane.
@Suite(.timeLimit(.minutes(20))) struct JSONReaderTests {
    private func refusal(_ json: String) -> JSONScanner.ScanError? {
        do throws(JSONScanner.ScanError) { _ = try JSONReader.value(of: Array(json.utf8)) } catch { return error }
        return nil
    }

    // MARK: Members that are there twice

    @Test(arguments: [
        (#"{"a": 1, "a": 1}"#, "a"), (#"{"a": 1, "b": {"a": 2, "c": 3, "c": 4}}"#, "b.c"),
        (#"{"a": [{"b": 1}, {"b": 1, "b": 2}]}"#, "a[1].b"), (#"{"a": "x", "\u0061": "y"}"#, "a"),
        (#"{"a\"b": 1, "a\"b": 1}"#, #"a"b"#), (#"{"": 1, "": 2}"#, ""), (#"[[], [{"a": {}, "a": []}]]"#, "[1][0].a"),
    ])
    func repeatedMemberIsNamedByItsPath(_ json: String, _ path: String) {
        #expect(refusal(json) == .repeated(path))
    }

    @Test(arguments: [
        "{}", "[]", "1", #""a""#, #"{"a": 1, "b": 1}"#, #"{"a": {"a": {"a": "a"}}, "b": "a"}"#, #"["a", "a", "a"]"#,
        #"{"a": "a", "b": ["a", "a", {"a": 1}, {"a": 1}], "c": "{\"a\": 1, \"a\": 2}"}"#, #"{"a": "\\", "b": "\\\""}"#,
    ])
    func otherTextsAreRead(_ json: String) { #expect(refusal(json) == nil) }

    @Test func requestsWithARepeatedMemberAreRejectedAndNameIt() throws {
        let texts = [
            (#"{"select": {"tags": ["a"]}, "select": {"all": true}}"#, "select"),
            (#"{"select": {"tags": ["a"], "tags": ["b"]}}"#, "select.tags"),
            (#"{"select": {"tags": ["a"]}, "dryRun": true, "dryRun": false}"#, "dryRun"),
        ]
        for (json, field) in texts {
            let problem = try #require(throws: ControlProblem.self) { try PurgeRequest(json: Array(json.utf8)) }
            #expect(problem.status == 400 && problem.field == field && problem.detail.contains("'\(field)'"))
        }
        let mode = #"{"mode": "automatic", "mode": "offline", "for": "1h"}"#
        let problem = try #require(throws: ControlProblem.self) { try ModeRequest(json: Array(mode.utf8)) }
        #expect(problem.field == "mode" && problem.value == nil)
    }

    // MARK: Texts

    @Test(arguments: [
        "", " ", "\"", #"{"a"#, #"{"a\"#, "}]", ",", "{", "[", "[1,]", "{,}", #"{"a":}"#, #"{"a" 1}"#, "[1 2]", "01",
        "-",
        "+1", "1.", ".5", "1e", "1e999", "nul", "True", "1 2", "'a'", #"{a: 1}"#, #""\x""#, #""\u00g0""#, #""\ud800""#,
        #""\ud800\u0041""#, #""\udc00""#, "\"\u{1}\"", "\"\n\"",
    ])
    func isNotJSON(_ json: String) { #expect(refusal(json) == .notJSON) }

    @Test func bytesThatAreNoTextAreRejected() {
        for bytes in [[0x22, 0xFF, 0x22], [0x22, 0xC3, 0x22], [0x22, 0x5C, 0x6E, 0xFF, 0x22]] as [[UInt8]] {
            #expect(throws: JSONScanner.ScanError.notJSON) { try JSONReader.value(of: bytes) }
        }
    }

    /// Any JSON text.
    private func generated(_ random: inout SeededRandom, depth: Int = 0) -> String {
        func text() -> String {
            let parts = ["a", "é", "😀", "\\n", "\\u00e9", "\\ud83d\\ude00", "\\/", "\\\"", "/", " "]
            return (0..<Int.random(in: 0...4, using: &random)).map { _ in parts.randomElement(using: &random) ?? "" }
                .joined()
        }
        func values(_ start: (Int) -> String) -> [String] {
            (0..<3).map { start($0) + generated(&random, depth: depth + 1) }
        }
        switch Int.random(in: 0...(depth > 3 ? 4 : 6), using: &random) {
        case 0: return "null"
        case 1: return Bool.random(using: &random) ? "true" : "false"
        case 2: return ["0", "-0", "12", "-1.5", "1e3", "2.5E-2"].randomElement(using: &random) ?? ""
        case 3, 4: return "\"\(text())\""
        case 5: return "[" + values { _ in "" }.joined(separator: " , ") + "]"
        default: return "{" + values { "\"\($0)\(text())\":" }.joined(separator: ",\t") + "}"
        }
    }

    /// It reads every text as Foundation does.
    @Test func readsAsFoundation() throws {
        var random = SeededRandom(seed: 52)
        for _ in 0..<500 {
            let json = generated(&random)
            let read = try JSONReader.value(of: Array(json.utf8))
            let options: JSONSerialization.ReadingOptions = [.fragmentsAllowed]
            let expected = try JSONSerialization.jsonObject(with: Data(json.utf8), options: options)
            #expect(matches(read, expected), "\(json)")
        }
    }

    /// Also in texts that are almost JSON.
    ///
    /// Mutant: `what-is-skipped-is-not-checked`.
    @Test func skippingRejectsTheSameTextsAsReading() {
        var random = SeededRandom(seed: 820)
        var rejected = 0
        let almost = ["[1,]", "[,1]", "[1,,2]", "[1 2]", "[", "{\"a\":1,}", "{\"a\":}", "{\"a\"}", "{,}", "{"]
        for number in 0..<2000 {
            var json = Array((number < almost.count ? almost[number] : generated(&random)).utf8)
            let place = json.indices.randomElement(using: &random) ?? 0
            switch number < almost.count ? 0 : Int.random(in: 0...3, using: &random) {
            case 0: break
            case 1: json.remove(at: place)
            case 2: json.insert(json[place], at: place)
            default: json[place] = Array("{}[]:,\"\\0-.e nu\u{1}".utf8).randomElement(using: &random) ?? 0
            }
            let isRead: Bool
            do throws(JSONScanner.ScanError) {
                _ = try JSONReader.value(of: json)
                isRead = true
            } catch {
                guard error == .notJSON else { continue }
                isRead = false
            }
            let skipped: Void? = try? JSONScanner.read(json, maximumDepth: 32) {
                scanner throws(JSONScanner.ScanError) in
                try scanner.skip(scanner.next())
            }
            #expect((skipped != nil) == isRead, "\(String(decoding: json, as: UTF8.self))")
            rejected += isRead ? 0 : 1
        }
        #expect(500..<1800 ~= rejected, "\(rejected)")
    }

    private func matches(_ value: JSONValue, _ expected: Any) -> Bool {
        switch value {
        case .null: expected is NSNull
        case .bool(let flag): (expected as? Bool) == flag
        case .number(let number): (expected as? Double) == number
        case .string(let text): (expected as? String).map { Array($0.utf8) == Array(text.utf8) } ?? false
        case .array(let values):
            (expected as? [Any]).map { $0.count == values.count && zip(values, $0).allSatisfy { matches($0, $1) } }
                ?? false
        case .object(let members):
            (expected as? [String: Any]).map { other in
                other.count == members.count
                    && members.allSatisfy { name, value in other[name].map { matches(value, $0) } ?? false }
            } ?? false
        }
    }

    // MARK: Cost

    @Test func numberOfValuesIsLimited() throws {
        func list(_ count: Int) -> String { "[" + Array(repeating: "1", count: count).joined(separator: ",") + "]" }
        #expect(refusal(list(JSONReader.maximumCount - 1)) == nil)
        #expect(refusal(list(JSONReader.maximumCount)) == .tooManyValues)
        let problem = try #require(throws: ControlProblem.self) {
            try JSONMembers(json: Array(list(JSONReader.maximumCount).utf8), example: "{}")
        }
        #expect(problem.status == 413 && problem.limit == JSONReader.maximumCount)
    }

    @Test func depthIsLimited() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        #expect(refusal(nested(JSONReader.maximumDepth)) == nil)
        #expect(refusal(nested(JSONReader.maximumDepth + 1)) == .tooDeep)
        // No text exhausts the stack.
        #expect(refusal(String(repeating: "[", count: PurgeRequest.maximumBytes)) == .tooDeep)
        let problem = try #require(throws: ControlProblem.self) {
            try JSONMembers(json: Array(nested(33).utf8), example: "{}")
        }
        #expect(problem.status == 400 && problem.limit == JSONReader.maximumDepth)
    }

    /// Content that is as long as a purge may be.
    ///
    /// Mutant: each member is compared with all before it.
    @Test(arguments: [
        "members", "long names", "equal starts", "texts", "escapes", "numbers", "digits", "lists", "tags",
    ])
    func noContentHoldsItsThread(kind: String) async {
        func fill(_ start: String, _ end: String, _ part: (Int) -> String) -> [UInt8] {
            var bytes = Array(start.utf8)
            var number = 0
            while true {
                let next = part(number).utf8
                guard bytes.count + next.count + end.utf8.count + 1 <= PurgeRequest.maximumBytes else { break }
                if number > 0 { bytes.append(UInt8(ascii: ",")) }
                bytes += next
                number += 1
            }
            return bytes + Array(end.utf8)
        }
        let long = String(repeating: "n", count: 100)
        let content =
            switch kind {
            case "members": fill("{", "}") { "\"m\($0)\":1" }
            case "long names": fill("{", "}") { "\"\($0)\(long)\":1" }
            case "equal starts": fill("{", "}") { "\"\(long)\($0)\":[]" }
            case "texts": fill("[", "]") { _ in "\"" + String(repeating: "é", count: 10_000) + "\"" }
            case "escapes": fill("[", "]") { _ in "\"" + String(repeating: "\\u00e9", count: 10_000) + "\"" }
            case "numbers": fill("[", "]") { "\($0)" }
            case "digits": fill("[", "]") { _ in String(repeating: "9", count: 100_000) }
            case "lists": fill("[", "]") { _ in "[[[[[[]]]]]]" }
            default: fill(#"{"select":{"tags":["#, "]}}") { "\"tag-\($0)\"" }
            }
        let slow = await ProcessorTime.stepsOverLimit { steps in
            steps.add(kind, ProcessorTime.of { _ = try? PurgeRequest(json: content).scopes() })
        }
        #expect(slow.isEmpty, "\(slow)")
    }
}
