import Foundation
import HTTPCache
import HTTPCacheSemantics
import HoldfastTesting
import Testing

@testable import CacheRules
@testable import HoldfastConfiguration
@testable import HoldfastGateway

/// The cost of many routes and rules compared with that of few.
@Suite(.timeLimit(.minutes(20)))
struct ScaleTests {
    /// The processor time of this thread. Other work on the machine does not matter.
    private static func seconds(_ body: () throws -> Void) rethrows -> Double {
        func now() -> Double {
            var time = timespec()
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
        }
        let start = now()
        try body()
        return now() - start
    }

    private static func routes(_ kind: String, _ count: Int) -> [HoldfastConfiguration.Configuration.Route] {
        (0..<count).map { number in
            let (name, origin) = ("r\(number)", "http://o\(number).example")
            return switch kind {
            case "hosts": .init(name: name, host: "h\(number).local", origin: origin)
            case "paths":
                .init(name: name, host: "api.local", path: "/p\(number)", origin: "http://o.example/p\(number)")
            case "paths of any host": .init(name: name, path: "/p\(number)", origin: origin)
            case "hosts beside paths":
                number % 2 == 0
                    ? .init(name: name, host: "h\(number).local", origin: origin)
                    : .init(name: name, path: "/p\(number)", origin: origin)
            case "labels": .init(name: name, host: "*.h\(number).local", origin: origin)
            case "modes": .init(name: name, host: "h\(number).local", origin: origin, mode: .online)
            case "preserved": .init(name: name, host: "h\(number).local", origin: origin, preservesHost: true)
            default: .init(name: name, path: "/p\(number)", origin: origin + "/p\(number)", preservesHost: true)
            }
        }
    }

    /// Mutant: each route is compared with all others.
    @Test(arguments: [
        "hosts", "paths", "paths of any host", "hosts beside paths", "labels", "modes", "preserved",
        "preserved paths",
    ])
    func loadTimeIsLinearInRoutes(kind: String) throws {
        func load(_ count: Int) throws -> Double {
            var file = HoldfastConfiguration.Configuration()
            file.routes = Self.routes(kind, count)
            return try Self.seconds {
                #expect(file.contradictions().isEmpty)
                let routes = try GatewayRoutes(file.routes)
                let last = count - 1
                let hosts = ["h\(last).local", "a.h\(last).local", "api.local"]
                let ways = hosts.compactMap { routes.route(authority: $0, target: "/p\(last)") }
                #expect(ways.contains { $0.route.name == "r\(last)" })
            }
        }
        let few = try load(400)
        let many = try load(4000)
        // Linear is 10, quadratic is 100.
        #expect(many < 40 * max(few, 0.001), "\(few) s, then \(many) s")
    }

    @Test func comparesRuleWithLimitedNumberOfRulesOfTheSameStart() throws {
        let index = try Self.index((0..<5000).map { "/**/item-\($0)/**" })
        let pattern = try CompiledPattern("/**/item-1/**/x")
        #expect(index.possiblyCovering(pattern, before: 5000, limit: 512) == Set(0..<512))
        #expect(index.possiblyCovering(pattern, before: 10, limit: 512) == Set(0..<10))
    }

    // MARK: Matching

    private static func index(_ patterns: [String]) throws -> RuleIndex {
        RuleIndex(try patterns.map { [try CompiledPattern(URLPattern($0))] })
    }

    private static func target(_ path: String) throws -> TargetParts {
        TargetParts(try TargetURI("http://a.example" + path))
    }

    /// Mutant: every pattern with a star at its start is compared.
    @Test func comparesTargetOnlyWithRulesWhoseWordsItContains() throws {
        for shape in ["/**/item-%/**", "/**.ext%", "/*/%/x", "/**/%", "/**%**/y/*"] {
            let index = try Self.index((0..<4000).map { shape.replacing("%", with: "\($0 + 10_000)") })
            let path = shape.replacing("%", with: "13777").replacing("**", with: "a/b").replacing("*", with: "c")
            let found = index.matches(try Self.target(path)) { _ in true }
            #expect(found.rules == [3777] && found.comparisons < 20, "\(shape): \(found.comparisons)")
            #expect(index.matches(try Self.target("/a/b/c")) { _ in true }.comparisons < 20)
        }
    }

    @Test func comparesTargetWithAtMostAsManyRulesAsItHasBytes() throws {
        let index = try Self.index((0..<4000).map { "/**/item-\($0 + 10_000)/*/**" })
        let path = "/a" + (0..<300).map { "/item-\(10_000 + $0 * 13)" }.joined()
        let found = index.matches(try Self.target(path)) { _ in true }
        #expect(found.rules.count > 290 && found.comparisons <= path.utf8.count, "\(found.comparisons)")
    }

    @Test(arguments: 1...60 as ClosedRange<UInt64>) func indexFindsTheSameAsComparingAllRules(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        func text(_ parts: [String], _ longest: Int) -> String {
            (0..<Int.random(in: 0...longest, using: &random)).map { _ in
                parts[Int.random(in: 0..<parts.count, using: &random)]
            }.joined()
        }
        let patterns = (0..<60).map { _ in
            "/" + text(["a", "b", "/", "*", "**", "abab", "longersegment"], 6)
        }
        let index = try Self.index(patterns)
        let compiled = try patterns.map { try CompiledPattern(URLPattern($0)) }
        for _ in 0..<60 {
            let target = try Self.target("/" + text(["a", "b", "/", "ab", "longersegment"], 8))
            let expected = compiled.indices.filter { compiled[$0].matches(target) }
            #expect(index.matches(target) { _ in true }.rules == expected, "seed \(seed)")
        }
    }
}
