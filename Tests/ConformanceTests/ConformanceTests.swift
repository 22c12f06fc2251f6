import Foundation
import Testing

/// RFC 9111 and its relatives, as caches are asked about them in public: `Tests/Fixtures/conformance` at the engine.
@Suite struct ConformanceTests {
    static let cases: [ConformanceCase] = (try? ConformanceTable.load()) ?? []
    static let atEngine = cases.filter { $0.door == .any }

    @Test func everyFileOfTheTableIsRead() throws {
        let cases = try ConformanceTable.load()
        #expect(cases.count >= 365)
        #expect(Set(cases.map(\.id)).count == cases.count)
    }

    @Test(arguments: atEngine.filter { $0.strength == .required })
    func requiredCaseHolds(_ entry: ConformanceCase) async throws {
        let findings = try await Self.findings(of: entry)
        if let open = entry.open {
            withKnownIssue("\(open)") { #expect(findings.isEmpty, "\(entry.claim) RFC \(entry.rfc)") }
        } else {
            #expect(findings.isEmpty, "\(entry.claim) RFC \(entry.rfc)")
        }
    }

    /// The optimal cases are no duty, but what holds today is not lost unseen.
    @Test func optimalCasesHold() async throws {
        var failures: [String] = []
        for entry in Self.atEngine where entry.strength == .optimal {
            let findings = try await Self.findings(of: entry)
            if !findings.isEmpty { failures.append("\(entry.id): \(findings)") }
        }
        #expect(failures.count <= 0, "\(failures.joined(separator: "\n"))")
    }

    /// Writes how every case went, for whoever asks with the variable `CONFORMANCE_REPORT`.
    @Test func reportIsWritten() async throws {
        guard let path = ProcessInfo.processInfo.environment["CONFORMANCE_REPORT"] else { return }
        var lines: [String] = []
        for entry in Self.atEngine {
            let findings = try await Self.findings(of: entry)
            let verdict =
                findings.isEmpty ? "holds" : findings.allSatisfy(\.isPremise) ? "not tried" : "does not hold"
            lines.append("\(entry.strength.rawValue)\t\(verdict)\t\(entry.id)\t\(findings.map(\.description))")
        }
        try lines.joined(separator: "\n").write(toFile: path, atomically: true, encoding: .utf8)
    }

    private static func findings(of entry: ConformanceCase) async throws -> [Finding] {
        let path = "/conformance/\(entry.id)"
        let origin = CaseOrigin(entry, path: path)
        var run = CaseRun(entry, origin: origin, door: EngineDoor(origin: origin, path: path))
        return try await run.findings()
    }
}
