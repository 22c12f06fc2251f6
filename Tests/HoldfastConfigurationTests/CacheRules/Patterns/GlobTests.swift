import Testing

@testable import CacheRules
@testable import HoldfastConfiguration

@Suite(.timeLimit(.minutes(20))) struct GlobTests {
    @Test(arguments: [
        ("/a", "/a", true), ("/a", "/a/", false), ("/a/*", "/a/b", true), ("/a/*", "/a/", true),
        ("/a/*", "/a/b/c", false), ("/a/**", "/a/b/c", true), ("/a/**", "/a", false), ("/**.png", "/x/y.png", true),
        ("/*.png", "/x/y.png", false), ("/a*b*c", "/aXbYc", true), ("/a*b*c", "/aXbYcZ", false),
        ("/a*b/c*d", "/a1b/c2d", true), ("/a*b/c*d", "/a/b/c2d", false), ("/**/x/**", "/a/x/b", true),
        ("/**/x/**", "/x/b", false), ("/ab*ab", "/ab", false), ("/ab*ab", "/abab", true), ("/%2F", "/%2f", false),
        ("/a***b", "/a/x/b", true),
    ]) func starsMatchBytes(_ pattern: String, _ text: String, _ expected: Bool) {
        #expect(Glob(pattern.utf8, separator: UInt8(ascii: "/")).matches(Array(text.utf8)) == expected)
    }

    @Test func matchesLikeTheDefinition() {
        var numbers = Numbers(seed: 7)
        for _ in 0..<20_000 {
            let pattern = Self.text(&numbers, of: ["a", "b", "/", "*", "**"], upTo: 7)
            let text = Self.text(&numbers, of: ["a", "b", "/"], upTo: 7)
            let glob = Glob(pattern.utf8, separator: UInt8(ascii: "/"))
            #expect(
                glob.matches(Array(text.utf8)) == Self.matches(Array(pattern.utf8)[...], Array(text.utf8)[...]),
                "'\(pattern)' on '\(text)'"
            )
        }
    }

    @Test func longPatternsMatchLikeShortOnes() {
        let pattern = "/" + String(repeating: "ab*", count: 100) + "/**/" + String(repeating: "*c", count: 80)
        let glob = Glob(pattern.utf8, separator: UInt8(ascii: "/"))
        let text = "/" + String(repeating: "abx", count: 100) + "/d/e/" + String(repeating: "xc", count: 80)
        #expect(glob.matches(Array(text.utf8)))
        #expect(!glob.matches(Array((text + "d").utf8)))
        #expect(!glob.matches(Array(("/a" + text).utf8)))
    }

    /// With backtracking, this would not end in any reasonable time.
    @Test func matchingTimeIsBoundedByPatternAndText() {
        let glob = Glob(("/" + String(repeating: "**a", count: 60)).utf8, separator: UInt8(ascii: "/"))
        let text = Array(("/" + String(repeating: "a", count: 20_000) + "b").utf8)
        #expect(!glob.matches(text))
        let stars = Glob(("/" + String(repeating: "*a", count: 60) + "*").utf8, separator: UInt8(ascii: "/"))
        #expect(stars.matches(text))
    }

    /// Mutant: a star does not match zero bytes below the base.
    @Test func globThatMatchesAPathBelowABaseIsFound() {
        var numbers = Numbers(seed: 13)
        var found = 0
        for _ in 0..<20_000 {
            let pattern = "/" + Self.text(&numbers, of: ["a", "b", "/", "*", "**"], upTo: 6)
            let base = "/" + Self.text(&numbers, of: ["a", "b"], upTo: 2)
            let rest = numbers.chance(3) ? "" : "/" + Self.text(&numbers, of: ["a", "b", "/"], upTo: 4)
            let glob = Glob(pattern.utf8, separator: UInt8(ascii: "/"))
            guard glob.matches(Array((base + rest).utf8)) else { continue }
            found += 1
            #expect(glob.matchesSome(startingWith: Array(base.utf8)), "'\(pattern)' below '\(base)'")
        }
        #expect(found > 100)
    }

    @Test func coveringGlobMatchesAllThatTheOtherMatches() {
        var numbers = Numbers(seed: 11)
        let texts = (0..<400).map { _ in Array(Self.text(&numbers, of: ["a", "b", "/"], upTo: 6).utf8) }
        var claimed = 0
        for _ in 0..<5000 {
            let first = Self.glob(&numbers)
            let second = Self.glob(&numbers)
            guard first.covers(second) else { continue }
            claimed += 1
            for text in texts where second.matches(text) { #expect(first.matches(text)) }
        }
        #expect(claimed > 100)
    }

    private static func glob(_ numbers: inout Numbers) -> Glob {
        Glob(text(&numbers, of: ["a", "b", "/", "*", "**"], upTo: 4).utf8, separator: UInt8(ascii: "/"))
    }

    private static func text(_ numbers: inout Numbers, of parts: [String], upTo limit: Int) -> String {
        let count = Int(numbers.next() >> 33) % (limit + 1)
        return (0..<count).map { _ in numbers.pick(parts) }.joined()
    }

    /// The definition of a match, written as short as possible.
    private static func matches(_ pattern: ArraySlice<UInt8>, _ text: ArraySlice<UInt8>) -> Bool {
        let star = UInt8(ascii: "*")
        guard let first = pattern.first else { return text.isEmpty }
        guard first == star else {
            return text.first == first && matches(pattern.dropFirst(), text.dropFirst())
        }
        let stars = pattern.prefix { $0 == star }.count
        let rest = pattern.dropFirst(stars)
        for end in text.startIndex...text.endIndex {
            if stars == 1, text[..<end].contains(UInt8(ascii: "/")) { return false }
            if matches(rest, text[end...]) { return true }
        }
        return false
    }
}
