import Foundation
import HoldfastTesting
import Testing

/// Properties of endpoints that are ignored, in source text.
@Suite(.timeLimit(.minutes(20))) struct EndpointSourceCheckTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../../..")

    @Test(arguments: ["Examples", "Tests/ConsumerPackage", "Tests/HoldfastTests/Documentation"])
    func ownSourcesHaveNoFindings(folder: String) throws {
        let check = try EndpointSourceCheck(folder: Self.root.appending(path: folder).path)
        #expect(check.findings == [])
        if folder != "Tests/ConsumerPackage" { #expect(check.endpoints.count >= 4) }
    }

    /// Each line that ends in `// ignored: WORDS` has a finding with these words, and no other line
    /// has one.
    @Test func firstDayProgramsHaveTheFindingsThatTheyState() throws {
        let folder = Self.root.appending(path: "Tests/FirstDay")
        let findings = try EndpointSourceCheck(folder: folder.path).findings
        var stated: [String: String] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) where name.hasSuffix(".swift") {
            let text = try String(contentsOf: folder.appending(path: name), encoding: .utf8)
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
            for (number, line) in lines where !line.hasPrefix("//") {
                guard let mark = line.range(of: "// ignored: ") else { continue }
                stated["\(name):\(number + 1)"] = String(line[mark.upperBound...])
            }
        }
        #expect(stated.count > 60)
        for finding in findings {
            let words = stated.removeValue(forKey: "\(finding.file):\(finding.line)")
            #expect(words.map(finding.explanation.contains) == true, "\(finding)")
        }
        #expect(stated == [:])
    }

    private func found(_ source: String) -> [String] {
        EndpointSourceCheck(sources: ["A.swift": source]).findings.map { "\($0.line) \($0.endpoint).\($0.property)" }
    }

    @Test(arguments: [
        "struct A: Endpoint { let timeout: Int }",
        "struct A: Holdfast.Endpoint { let timeout: Swift.Int? }",
        "struct A {}; extension A: Endpoint { var timeout: Int { 5 } }",
        "extension A: Sendable, Endpoint { let timeout = 5 }",
        "protocol P: Endpoint {}; struct A: P { var timeout: Double { 5 } }",
        "public struct A<B: C>: @unchecked Sendable & Endpoint where B: D { let x = [\"}\": 1], timeout = 5 }",
        "typealias Seconds = Int; enum A: Endpoint { case timeout(Int); var timeout: Seconds { 5 } }",
        "struct A: Endpoint { /* { /* } */ */ let path = \"\\(x[\"}\"])}\", timeout = 1.5 }",
        "struct A: Endpoint { let text = #\"}\"\\\"#; let timeout: Int }",
        "struct A: Endpoint { let f = { let timeout = Duration.zero }; let timeout: Int }",
        "struct A: Endpoint { private(set) var timeout: Int? = nil }",
        "func f() { struct A: Endpoint { let timeout: Int } }",
        "struct A: Endpoint { func timeout() -> Duration { .zero } }",
        "struct A: Endpoint { static let timeout = Duration.zero }",
        "struct A: Endpoint { @MainActor let `timeout`: Int }",
    ])
    func findsTheProperty(source: String) {
        #expect(found(source) == ["1 A.timeout"])
    }

    /// Mutants: requirements that are declared are not considered; nor are instance properties of a
    /// static one's name; a replaced letter counts in short names.
    @Test(arguments: [
        "struct A { let timeout: Int }",
        "struct A: Endpoint { let timeout: Duration; let path = \"let timeout: Int\" }  // let timeout: Int",
        "struct A: Endpoint { let timeout: Optional<Duration> }",
        "struct A: Endpoint { let timeout = Defaults.timeout, retry = policy() }",
        "struct A: Endpoint { let timeout: Swift.Duration?; struct B { let timeout: Int } }",
        "struct A: Endpoint { var path: String { let timeout = 5; return \"\\(timeout)\" } }",
        "struct A: Endpoint { static let timeout = Duration.zero; var timeout: Duration { Self.timeout } }",
        "struct A: Endpoint { func timeout(after x: Int) {} }",
        "struct A: Endpoint { let tags = \"a b\".split(), timeout = 5.seconds, retry = Policies(of: [1]).first }",
        "struct A: Endpoint { let acceptedStatuses = 200...299, headers = [1]; let timeout = Duration.zero }",
        "struct A: Endpoint { let headers: H }; struct H: HTTPFieldsConvertible {}",
        "struct A<B: Endpoint>: Endpoint { var principal: B.EndpointPrincipal { b.principal } }",
        "typealias T = Duration; struct A: Endpoint { let timeout: T? }",
        "struct A: Endpoint { private let header: [String: String] }",
        "protocol P: Endpoint {}; extension P { var headers: [String: String] { header } }; "
            + "struct A: P { let header: [String: String] }",
        "struct A: Endpoint { let tag: String, role: String, mask: Int, tabs: [String] }",
    ])
    func findsNothing(source: String) {
        #expect(found(source) == [])
    }

    @Test func findingStatesFileAndLine() throws {
        let sources = ["B.swift": "\n\nstruct B: API {\n    let retry: Int\n}", "A.swift": "protocol API: Endpoint {}"]
        let check = EndpointSourceCheck(sources: sources)
        let finding = try #require(check.findings.first)
        #expect("\(finding)".hasPrefix("B.swift:4: B: 'retry' is ignored, because its type is 'Int'."))
        #expect(check.endpoints == ["B"] && check.findings.count == 1)
    }

    /// A source of any bytes ends neither the check nor the process.
    @Test func sourceCanEndAnywhere() throws {
        let source =
            "struct A<B>: Endpoint where B: C { lazy var timeout: [Int: (A)] = #\"\\#(x { })\"#, b = { /* } */ } }"
        for count in 0...source.count { _ = found(String(source.prefix(count))) }
        for count in 0...source.count { _ = found(String(source.dropFirst(count))) }
    }

    /// Mutants that end the process: no limit of the depth of braces, of interpolations.
    @Test(arguments: ["{", "struct A: Endpoint {", "let a: [", "struct A: Endpoint { let a: X<", "\"\\(", "(", "/*"])
    func nestingHasALimit(opening: String) {
        #expect(found(String(repeating: opening, count: 20_000)) == [])
    }

    @Test func missingFolderIsAnError() {
        #expect(throws: (any Error).self) { try EndpointSourceCheck(folder: "/nonexistent") }
    }
}
