import HTTPCache
import HTTPTypes

@testable import CacheRules
@testable import HTTPCacheSemantics
@testable import HoldfastConfiguration

/// A configuration file: it is accepted, or rejected with findings that can be shown.
func configuration(_ bytes: UnsafeBufferPointer<UInt8>) {
    let text = String(decoding: bytes, as: UTF8.self)
    let secret = "hunter2-from-the-environment"
    do {
        let configuration = try Configuration(yaml: text, environment: ["A": secret, "B": "1\n"])
        require(!"\(configuration.effective)".contains(secret), "a secret is shown")
        let request = HTTPRequest(method: .get, scheme: "https", authority: "a.example", path: "/a/b?c")
        let rules = configuration.rules.rules(for: request)
        require(rules === configuration.rules.rules(for: request), "remembered rules are other ones")
        _ = rules.settings(forContentType: "image/png")
        let decisions = configuration.rules.decisions(for: request, contentType: "image/png")
        require(!"\(decisions)".contains(secret), "a secret is shown")
        require(Set(decisions.map(\.setting)).count == decisions.count, "a setting is decided twice")
        _ = configuration.route(for: "a.example", path: "/a/b?c")
    } catch let error as ConfigurationError {
        require(!error.findings.isEmpty, "a rejected file has no findings")
        let lines = error.findings.map { $0.line ?? 0 }
        require(lines == lines.sorted(), "the findings are not in the order of their lines")
        require(!error.description.contains(secret), "a secret is shown")
        require(
            error.description.utf8.allSatisfy { !$0.isControl || $0 == 0x0A },
            "a finding holds a control character"
        )
    } catch {
        require(false, "another error is thrown: \(error)")
    }
}

/// Lines: a pattern, another one, and a path. A pattern that covers another matches everything that
/// the other matches.
func urlPattern(_ bytes: UnsafeBufferPointer<UInt8>) {
    var input = FuzzInput(bytes)
    let first = input.text()
    let second = input.text()
    guard let one = try? CompiledPattern(URLPattern(first)) else { return }
    require((try? CompiledPattern(URLPattern(first))) == one, "a pattern has two meanings")
    require(one.covers(one), "a pattern does not cover itself")
    let path = String(decoding: input.line(), as: UTF8.self)
    guard let target = try? TargetURI("https://a.example" + (path.hasPrefix("/") ? path : "/" + path)) else { return }
    let parts = TargetParts(target)
    if one.path.tokens.count <= 12, parts.path.count <= 24 {
        let expected = matches(one.path.tokens[...], parts.path[...])
        require(one.path.matches(parts.path) == expected, "it is \(expected) by the definition")
    }
    guard let other = try? CompiledPattern(URLPattern(second)), one.covers(other) else { return }
    require(!other.matches(parts) || one.matches(parts), "'\(first)' is said to cover '\(second)'")
    let rules = [first, second].map { Rule(matching: .init(urls: [URLPattern($0)]), settings: tagged()) }
    let dead = CheckedRules(rules, sources: FieldSources(environment: [:], folder: nil)).findings
    require(dead.count == 1, "a covered rule is not found")
}

private func tagged() -> RuleSettings {
    var settings = RuleSettings()
    settings.tags = ["a"]
    return settings
}

/// The shortest definition of matching.
private func matches(_ tokens: ArraySlice<Glob.Token>, _ text: ArraySlice<UInt8>) -> Bool {
    guard let token = tokens.first else { return text.isEmpty }
    let rest = tokens.dropFirst()
    switch token {
    case .byte(let byte): return text.first == byte && matches(rest, text.dropFirst())
    case .one, .many:
        for end in text.startIndex...text.endIndex {
            if token == .one, text[..<end].contains(UInt8(ascii: "/")) { return false }
            if matches(rest, text[end...]) { return true }
        }
        return false
    }
}
