import HTTPCacheSemantics
import Testing

@testable import CacheRules
@testable import HoldfastConfiguration

/// Numbers of a file at the limits of integers, in every setting: each is read or refused, and what
/// is read can be computed with. A trap ends the tests. docs/attacks.md, 75
@Suite(.timeLimit(.minutes(20)))
struct NumberTests {
    private static let numbers = [
        "0", "1", "2147483647", "2147483648", "2147483649", "9007199254740991", "9007199254740992", "9007199254740993",
        "9223372036854775807", "9223372036854775808", "18446744073709551615", "18446744073709551616", "-1",
        "-9223372036854775808", "1e308", "1e309", "nan", "0.000000001", "99999999999999999999999999",
    ]
    private static let forms = [
        "N", "\"N\"", "N ms", "N s", "N w", "N B", "N KiB", "N TiB", "[N]", "127.0.0.1:N", "N-N", "{unix: s, mode: N}",
        "{tags: {a: N B}, each-origin: N TiB}", "{empty: true, smallest-json-share: N}", "{time: N w, entries: N}",
    ]

    /// `a.b: value` in the file's form.
    private static func text(_ name: String, _ value: String) -> String {
        let parts = name.split(separator: ".", maxSplits: 1)
        return parts.count == 2 ? "\(parts[0]): {\(parts[1]): \(value)}" : "\(name): \(value)"
    }

    /// Reads a file, and computes with what was read.
    private func load(_ yaml: String) -> Bool {
        guard let configuration = try? Configuration(yaml: yaml, environment: [:]) else { return false }
        _ = "\(configuration.effective)"
        let (limits, store) = (configuration.limits, configuration.store)
        // Sums and small multiples that the gateway and the store make.
        for size in [limits.requestBody ?? 0, limits.uploadRate ?? 0, store.budget ?? 0] { _ = 4 * (size + size) }
        for count in [limits.requestHead ?? 0, limits.keyedContent ?? 0, store.memory ?? 0] { _ = 4 * (count + count) }
        for duration in [configuration.drainTimeout, configuration.originTimeouts.idle].compactMap(\.self) {
            _ = duration * 2
            #expect(duration < .seconds(1 << 32))
        }
        return true
    }

    @Test func everySettingOfTheFile() {
        var read = 0
        for setting in TopSetting.all {
            for form in Self.forms {
                for number in Self.numbers {
                    let value = form.split(separator: "N", omittingEmptySubsequences: false).joined(separator: number)
                    if load("version: 1\n" + Self.text(setting.name, value)) { read += 1 }
                }
            }
        }
        #expect(read > TopSetting.all.count)
    }

    @Test func everySettingOfARule() {
        var read = 0
        for setting in Setting.all {
            for form in Self.forms {
                for number in Self.numbers {
                    let value = form.split(separator: "N", omittingEmptySubsequences: false).joined(separator: number)
                    let rule = "- {name: a, match: {url: \"https://a.example/**\"}, \(Self.text(setting.name, value))}"
                    if load("version: 1\nrules:\n  \(rule)") { read += 1 }
                }
            }
        }
        #expect(read > 50)
    }

    @Test(arguments: ["1025 TiB", "9223372036854775807 B", "8388608 TiB", "1125899906842625 B"])
    func largestSizeIsAPebibyte(_ size: String) {
        #expect(load("version: 1\nstore: {budget: 1024 TiB}"))
        #expect(!load("version: 1\nstore: {budget: \(size)}"))
    }

    @Test(arguments: numbers)
    func portsOfOrigins(_ number: String) {
        let isPort = UInt16(number).map { $0 > 0 } ?? false
        #expect(load("version: 1\nroutes: [{origin: \"http://127.0.0.1:\(number)\"}]") == isPort)
    }
}
