import Foundation
import Testing

/// RFC 9111 and related RFCs, with the cases of a public test suite: `Tests/Fixtures/conformance`,
/// at the engine and over sockets.
@Suite struct ConformanceTests {
    static let cases: [ConformanceCase] = (try? ConformanceTable.load()) ?? []
    static let atEngine = cases.filter { $0.door == .any }

    @Test func everyFileOfTableIsRead() throws {
        let cases = try ConformanceTable.load()
        #expect(cases.count >= 365)
        #expect(Set(cases.map(\.id)).count == cases.count)
    }

    @Test(arguments: atEngine.filter { $0.strength == .required })
    func requiredCaseHoldsAtTheEngine(_ entry: ConformanceCase) async {
        Self.judge(entry, await Self.atEngine(entry))
    }

    @Test(arguments: cases.filter { $0.strength == .required })
    func requiredCaseHoldsThroughTheGateway(_ entry: ConformanceCase) async throws {
        Self.judge(entry, try await Self.throughGateway(entry))
    }

    /// The optimal cases are not mandatory, but a case that holds today must not fail unnoticed.
    @Test(arguments: cases.filter { $0.strength == .optimal })
    func optimalCaseHoldsThroughTheGateway(_ entry: ConformanceCase) async throws {
        Self.judge(entry, try await Self.throughGateway(entry))
    }

    /// A client whose protocol sends lists of fields and frames gets what a client of HTTP/1 gets,
    /// apart from the framing.
    @Test(arguments: cases)
    func fieldListsSayWhatHTTP1Says(_ entry: ConformanceCase) async throws {
        let path = "/conformance/\(entry.id)"
        let (wireOrigin, listOrigin) = (CaseOrigin(entry, path: path), CaseOrigin(entry, path: path))
        let wireDoor = try await WireDoor(origin: wireOrigin, path: path)
        var wire = CaseRun(entry, origin: wireOrigin, door: wireDoor)
        let wireFindings = await wire.findings()
        await wireDoor.close()
        let listDoor = try await FrameDoor(origin: listOrigin, path: path)
        var list = CaseRun(entry, origin: listOrigin, door: listDoor)
        let listFindings = await list.findings()
        await listDoor.close()
        let addresses = wireDoor.addresses + listDoor.addresses
        #expect(listFindings.map { $0.text(without: addresses) } == wireFindings.map { $0.text(without: addresses) })
        #expect(list.responses.count == wire.responses.count)
        for (list, wire) in zip(list.responses, wire.responses) {
            #expect(list.lines(without: addresses) == wire.lines(without: addresses), "\(entry.claim)")
        }
    }

    /// Writes the result of every case at both doors, if the variable `CONFORMANCE_REPORT` names a
    /// file.
    @Test func reportIsWritten() async throws {
        guard let path = ProcessInfo.processInfo.environment["CONFORMANCE_REPORT"] else { return }
        var lines: [String] = []
        for entry in Self.cases {
            if entry.door == .any { lines.append(Self.line(entry, "engine", await Self.atEngine(entry))) }
            lines.append(Self.line(entry, "gateway", try await Self.throughGateway(entry)))
        }
        try lines.joined(separator: "\n").write(toFile: path, atomically: true, encoding: .utf8)
    }

    private static func line(_ entry: ConformanceCase, _ door: String, _ findings: [Finding]) -> String {
        let verdict = findings.isEmpty ? "holds" : findings.allSatisfy(\.isPremise) ? "not tried" : "does not hold"
        return "\(entry.strength.rawValue)\t\(verdict)\t\(door)\t\(entry.id)\t\(findings.map(\.description))"
    }

    static func judge(_ entry: ConformanceCase, _ findings: [Finding]) {
        if let open = entry.open {
            withKnownIssue("\(open)") { #expect(findings.isEmpty, "\(entry.claim) RFC \(entry.rfc)") }
        } else {
            #expect(findings.isEmpty, "\(entry.claim) RFC \(entry.rfc)")
        }
    }

    private static func atEngine(_ entry: ConformanceCase) async -> [Finding] {
        let path = "/conformance/\(entry.id)"
        let origin = CaseOrigin(entry, path: path)
        var run = CaseRun(entry, origin: origin, door: EngineDoor(origin: origin, path: path))
        return await run.findings()
    }

    private static func throughGateway(_ entry: ConformanceCase) async throws -> [Finding] {
        let path = "/conformance/\(entry.id)"
        let origin = CaseOrigin(entry, path: path)
        let door = try await WireDoor(origin: origin, path: path)
        var run = CaseRun(entry, origin: origin, door: door)
        let findings = await run.findings()
        await door.close()
        return findings
    }
}

extension Finding {
    func text(without addresses: [String]) -> String { description.removing(addresses) }
}

extension DoorResponse {
    /// The statuses, the fields in their order, and the content: without the fields that belong to
    /// HTTP/1 and its connection, and without the origins' addresses.
    ///
    /// - Parameter lowercases: whether the case of names is no difference.
    func lines(without addresses: [String], lowercases: Bool = false) -> [String] {
        let heads = interim.map { ($0.status, $0.fields) } + [(status, fields)]
        let lines = heads.flatMap { status, fields in
            ["\(status)"]
                + fields.lines.filter { !ClientProtocol.framing.contains($0.name.lowercased()) }
                .map { "\(lowercases ? $0.name.lowercased() : $0.name): \($0.value)" }
        }
        return (lines + [content]).map { $0.removing(addresses) }
    }
}

extension String {
    func removing(_ addresses: [String]) -> String {
        addresses.reduce(self) { $0.replacing($1, with: "") }
    }
}
