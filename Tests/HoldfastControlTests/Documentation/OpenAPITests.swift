import Foundation
import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import HTTPTypes
import Logging
import Testing
import Yams

@testable import HoldfastControl

/// `docs/openapi.yaml` has every operation of the control plane, and its examples are valid.
@Suite(.timeLimit(.minutes(20))) struct OpenAPITests {
    private let document: [String: Any]

    init() throws {
        let root = #filePath.replacing("Tests/HoldfastControlTests/Documentation/OpenAPITests.swift", with: "")
        let text = try String(contentsOfFile: root + "docs/openapi.yaml", encoding: .utf8)
        document = try #require(Self.plain(try Yams.load(yaml: text) as Any) as? [String: Any])
    }

    /// The same with names as keys of all mappings.
    private static func plain(_ value: Any) -> Any {
        if let list = value as? [Any] { return list.map(plain) }
        guard let object = value as? [AnyHashable: Any] else { return value }
        return Dictionary(uniqueKeysWithValues: object.map { ("\($0)", plain($1)) })
    }

    private func operation(_ path: String, _ method: String) -> [String: Any]? {
        let paths = document["paths"] as? [String: Any]
        return (paths?[path] as? [String: Any])?[method.lowercased()] as? [String: Any]
    }

    /// The object behind a reference, or the object itself.
    private func resolved(_ value: Any?) -> [String: Any]? {
        guard let object = value as? [String: Any] else { return nil }
        guard let reference = object["$ref"] as? String else { return object }
        var place: Any? = document
        for name in reference.split(separator: "/").dropFirst() { place = (place as? [String: Any])?[String(name)] }
        return place as? [String: Any]
    }

    /// The statuses that every operation has by the way in which requests come.
    private func commonStatuses(_ operation: ControlResponder.Operation) -> Set<String> {
        var statuses: Set<String> = ["200", "401", "403", "421", "429"]
        // Health checks look at nothing that could be wrong.
        if operation.path.hasPrefix("/v1/") { statuses.insert("400") }
        if Self.hasContent(operation) { statuses.formUnion(["408", "413", "415"]) }
        return statuses
    }

    private static func hasContent(_ operation: ControlResponder.Operation) -> Bool {
        operation.method != .get && operation.method != .delete
    }

    @Test func everyOperationIsDocumented() {
        var missing: [String] = []
        for operation in ControlResponder.operations {
            let name = "\(operation.method) \(operation.path)"
            guard let documented = self.operation(operation.path, operation.method.rawValue) else {
                missing.append(name)
                continue
            }
            if documented["x-scope"] as? String != operation.scope.rawValue {
                missing.append("\(name): x-scope \(operation.scope.rawValue)")
            }
            let responses = documented["responses"] as? [String: Any] ?? [:]
            for status in commonStatuses(operation).subtracting(responses.keys).sorted() {
                missing.append("\(name): status \(status)")
            }
            for (status, response) in responses where resolved(response)?["description"] == nil {
                missing.append("\(name): the response \(status)")
            }
            if Self.hasContent(operation), documented["requestBody"] == nil { missing.append("\(name): its content") }
        }
        #expect(missing.isEmpty, "docs/openapi.yaml lacks:\n\(missing.joined(separator: "\n"))")
    }

    @Test func onlyOperationsAreDocumented() {
        let known = Set(ControlResponder.operations.map { "\($0.method.rawValue.lowercased()) \($0.path)" })
        let paths = document["paths"] as? [String: [String: Any]] ?? [:]
        let documented = Set(paths.flatMap { path, methods in methods.keys.map { "\($0) \(path)" } })
        #expect(!documented.isEmpty && documented.subtracting(known).isEmpty, "\(documented.subtracting(known))")
    }

    private func example(of content: Any?) throws -> Data {
        let media = ((content as? [String: Any])?["content"] as? [String: Any])?["application/json"]
        let example = try #require((media as? [String: Any])?["example"])
        return try JSONSerialization.data(withJSONObject: example)
    }

    private func request(_ path: String, _ method: String) throws -> [UInt8] {
        Array(try example(of: try #require(operation(path, method))["requestBody"]))
    }

    private func response(_ path: String, _ method: String) throws -> Data {
        let responses = try #require(operation(path, method))["responses"] as? [String: Any]
        return try example(of: resolved(responses?["200"]))
    }

    /// The paths of all members, without those of lists' items but the first's.
    private func members(_ value: Any, _ path: String = "") -> Set<String> {
        if let list = value as? [Any] { return list.first.map { members($0, path + "[]") } ?? [] }
        guard let object = value as? [String: Any] else { return [] }
        return object.reduce(into: []) { all, member in
            all.insert(path + "." + member.key)
            all.formUnion(members(member.value, path + "." + member.key))
        }
    }

    /// Decodes an example and encodes it again: no member is lost, so the type knows them all.
    private func decodes<Value: Codable>(_ type: Value.Type, _ path: String, _ method: String = "GET") throws {
        let example = try response(path, method)
        let again = try JSONEncoder().encode(try JSONDecoder().decode(type, from: example))
        let (before, after) = (
            members(try JSONSerialization.jsonObject(with: example)),
            members(try JSONSerialization.jsonObject(with: again))
        )
        #expect(before == after, "\(method) \(path): \(before.symmetricDifference(after).sorted())")
    }

    /// Compares an example with a value of a type that is only encoded.
    private func hasMembers(of value: some Encodable, _ path: String) throws {
        let example = members(try JSONSerialization.jsonObject(with: try response(path, "GET")))
        let real = members(try JSONSerialization.jsonObject(with: try JSONEncoder().encode(value)))
        #expect(example == real, "\(path): \(example.symmetricDifference(real).sorted())")
    }

    @Test func requestsOfExamplesAreAccepted() throws {
        let purge = try PurgeRequest(json: try request("/v1/purges", "POST"))
        #expect(try purge.scopes().count == 1 && purge.refresh == RefreshPace(perSecond: 20, atMost: 5000))
        #expect(try PinRequest(json: try request("/v1/pins", "POST")).scopes().count == 1)
        let now = Timestamp(milliseconds: 0)
        let mode = try ModeRequest(json: try request("/v1/mode", "PUT"))
        #expect(try mode.temporaryMode(configured: .automatic, at: now, by: "") != nil)
        let drain = try DrainRequest(json: try request("/v1/drains", "PUT"))
        let server = Switch.Subject.server(name: drain.server, origin: drain.origin)
        #expect(try drain.drain(of: server, at: now, by: "").reason == "kernel update")
        let staleness = try StalenessRequest(json: try request("/v1/staleness", "PUT"))
        #expect(try staleness.temporaryStaleness(at: now, by: "").value.seconds == 172_800)
        let level = try LogLevelRequest(json: try request("/v1/log-level", "PUT"))
        #expect(try level.temporary(own: .notice, at: now, by: "") != nil)
        let recording = try RecordingRequest(json: try request("/v1/recordings", "POST"))
        #expect(try recording.plan(at: now, by: "").until == now.adding(.seconds(3600)))
        #expect(try SessionRequest(json: try request("/v1/sessions", "POST")).code.utf8.count == 32)
        try JSONMembers(json: try request("/v1/inspections", "POST"), example: "{}").end(known: [])
        var reload = try JSONMembers(json: try request("/v1/reload", "POST"), example: "{}")
        let file = try reload.text("file")
        try reload.end(known: ["file"])
        #expect(file?.hasPrefix("/") == true)
    }

    @Test func statusShowsTheNumbersOfTheStatistics() throws {
        var statistics = StoreStatistics()
        (statistics.responses, statistics.objects, statistics.storedBytes) = (1, 2, 3)
        (statistics.databaseBytes, statistics.freeBytes, statistics.logBytes) = (9, 7, 2)
        (statistics.budget, statistics.expired, statistics.usableStale) = (5, 6, 7)
        (statistics.invalidated, statistics.damagedEntries, statistics.pinned) = (8, 9, 10)
        (statistics.evictedEntries, statistics.residentBytes, statistics.isReadOnly) = (11, 12, true)
        let json = try ControlResponder.encoder.encode(StatusReport.Store(statistics))
        #expect(
            String(decoding: json, as: UTF8.self) == """
                {"budget":5,"damaged":9,"evicted":11,"expired":6,"invalidated":8,"objects":2,"pinned":10,\
                "readOnly":true,"residentBytes":12,"responses":1,"storedBytes":3,"usableStale":7,"usedBytes":4}
                """
        )
    }

    @Test func responsesOfExamplesAreThoseOfTheTypes() throws {
        try decodes(PurgeResult.self, "/v1/purges", "POST")
        try decodes(PinResult.self, "/v1/pins", "POST")
        try decodes(ModeReport.self, "/v1/mode")
        try decodes(DrainsReport.self, "/v1/drains")
        try decodes(StalenessReport.self, "/v1/staleness")
        try decodes(StatusReport.self, "/v1/status")
        try decodes(OriginsReport.self, "/v1/origins")
        try decodes(ReloadResult.self, "/v1/reload", "POST")
        try decodes(RefreshesReport.self, "/v1/refreshes")
        try decodes(RecordingsReport.self, "/v1/recordings")
        try decodes(RecordingReport.self, "/v1/recordings", "POST")
        try decodes(RecordingReport.self, "/v1/recordings/{id}", "DELETE")
        try decodes(InspectionReport.self, "/v1/inspections", "POST")
        try decodes(SessionReport.self, "/v1/sessions", "POST")
        try decodes(ClientReport.self, "/v1/sessions")
        try decodes(SessionEnd.self, "/v1/sessions", "DELETE")
        try decodes(OverviewReport.self, "/v1/overview")
        try decodes(Curves.self, "/v1/history")
        try decodes(OutagesReport.self, "/v1/outages")
        try decodes(ResponseComparison.self, "/v1/responses/{id}/comparison", "POST")
        try decodes(NotStoredReport.self, "/v1/not-stored")
        try decodes(RulesReport.self, "/v1/rules")
        let now = Timestamp(milliseconds: 0)
        var history = PurgeHistory(since: 0)
        let purge = PurgeRequest(PurgeRequest.Selection(), reason: "deploy")
        for outcome in [
            PurgeHistory.Record.Outcome.matched(.init(ScopeCount(), of: .expire)), .problem("store-failed"),
        ] {
            history.append(PurgeHistory.Record(purge, sequence: 1, at: now, by: "uid 0", outcome: outcome))
        }
        try hasMembers(of: history.page(after: 0), "/v1/purges")
        let summary = ResponseSummary(
            entry: 1,
            id: "0123456789abcdef",
            state: .fresh,
            bodyLength: 1,
            storedAt: Timestamp(milliseconds: 0)
        )
        let page = ResponsesReport(ResponsePage([summary], next: 1))
        try hasMembers(of: page, "/v1/responses")
        try hasMembers(of: PinsReport(pins: PinUse(entries: 1, bytes: 1, limit: 1), page), "/v1/pins")
        let levels = LogLevels(.notice)
        levels.set(
            LogLevels.Temporary(.debug, until: .distantFuture, since: Timestamp(milliseconds: 0), client: "uid 1000")
        )
        try hasMembers(of: LogLevelReport(levels), "/v1/log-level")
        try hasMembers(of: HealthReport.liveness(stuckLoops: []), "/livez")
    }

    @Test func problemOfTheExampleIsOne() throws {
        let responses = try #require((document["components"] as? [String: Any])?["responses"] as? [String: Any])
        let content = (responses["Invalid"] as? [String: Any])?["content"] as? [String: [String: Any]]
        let example = try #require(content?["application/problem+json"]?["example"])
        let data = try JSONSerialization.data(withJSONObject: example)
        let problem = try JSONDecoder().decode(ControlProblem.self, from: data)
        #expect(
            problem.status == ControlProblem.Kind.invalidRequest.status
                && problem.title == ControlProblem.Kind.invalidRequest.title
        )
    }
}
