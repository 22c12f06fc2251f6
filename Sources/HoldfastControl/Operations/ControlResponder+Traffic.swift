import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import HoldfastMetrics
import Hummingbird

extension ControlResponder {
    /// The operations that show why responses are not stored, and which rules are used.
    static let traffic: [Operation] = [
        Operation(path: "/v1/not-stored", method: .get, scope: .read) { try await $0.notStored($1, $2) },
        Operation(path: "/v1/rules", method: .get, scope: .read) { try await $0.rules($1, $2) },
    ]

    /// Handles `GET /v1/not-stored`.
    private func notStored(_ request: Request, _ context: ControlContext) async throws -> Response {
        var query = try QueryMembers(request)
        if let url = query.text("url") {
            do {
                await operations.traffic?.watch(try TargetURI(url))
            } catch {
                throw ControlProblem(.invalidRequest, "'url': \(error)", field: "url")
            }
        }
        try query.end(known: ["url"])
        let counts = LabelCounts(await registry.quickFamilies(), "holdfast_not_stored_total", by: "reason")
        let report = NotStoredReport(
            counts,
            await operations.traffic?.notStored() ?? [],
            since: about.startedAt,
            showsQueries: context.client.seesQueries
        )
        return try Self.response(.ok, report)
    }

    /// Handles `GET /v1/rules`.
    private func rules(_ request: Request, _: ControlContext) async throws -> Response {
        try QueryMembers.none(in: request)
        let counts = LabelCounts(await registry.quickFamilies(), "holdfast_exchanges_total", by: "route")
        let status = operations.configurationStatus
        return try Self.response(.ok, RulesReport(operations.ruleUses, counts, status, since: about.startedAt))
    }
}

/// A metric's values, summed by one of its labels.
struct LabelCounts: Sendable, Hashable {
    private(set) var counts: [String: Int64] = [:]

    init(_ families: [MetricFamily], _ name: String, by label: String) {
        for family in families where family.description.name == name {
            for series in family.series {
                guard case .integer(let count) = series.value,
                    let value = series.labels.all.first(where: { $0.name == label })?.value
                else { continue }
                counts[value, default: 0] += count
            }
        }
    }
}

/// The reasons why responses were not stored, as returned by the control plane.
struct NotStoredReport: Sendable, Hashable, Codable {
    struct Example: Sendable, Hashable, Codable {
        /// The host and the target. A placeholder replaces the query if the client must not see
        /// queries. Secrets in the query are always replaced.
        var url: String
        var at: String
        var status: Int
        var route: String
    }

    struct Reason: Sendable, Hashable, Codable {
        var reason: String
        /// An explanation of the reason.
        var words: String
        var count: Int64
        /// The latest responses, newest first.
        var examples: [Example]
    }

    /// The time when the process started.
    var since: String
    /// The reasons, most frequent first.
    var reasons: [Reason]

    init(_ counts: LabelCounts, _ examples: [NotStoredExample], since start: Timestamp, showsQueries: Bool) {
        since = EndTime.text(start)
        reasons = StorageRefusal.allCases.compactMap { refusal -> Reason? in
            let count = counts.counts[refusal.label] ?? 0
            guard count > 0 else { return nil }
            let own = examples.filter { $0.reason == refusal }.map { example in
                Example(
                    url: Self.shown(example.target, showsQueries),
                    at: EndTime.text(example.at),
                    status: example.status,
                    route: example.route
                )
            }
            return Reason(reason: refusal.label, words: refusal.words, count: count, examples: own)
        }.sorted { ($1.count, $0.reason) < ($0.count, $1.reason) }
    }

    private static func shown(_ target: String, _ showsQueries: Bool) -> String {
        guard let mark = target.firstIndex(of: "?") else { return target }
        if !showsQueries { return Redaction.withoutQuery(target) }
        // As in a URL, secrets are recognized by the names of their parameters.
        let url = Redaction.uriText("http://" + target, limit: 4096)
        return url.hasPrefix("http://")
            ? String(url.dropFirst("http://".count)) : target[...mark] + Redaction.placeholder
    }
}

/// The rules and routes, and how often each was used, as returned by the control plane.
struct RulesReport: Sendable, Hashable, Codable {
    struct Rule: Sendable, Hashable, Codable {
        var name: String
        var line: Int?
        /// The rule's conditions, such as `match.url: /img/**`; empty if the rule always applies.
        var match: [String]
        var settings: [String]
        /// The approximate number of requests for which the rule decided a setting; 0 if there were
        /// none.
        var matched: Int64
    }

    struct Route: Sendable, Hashable, Codable {
        var name: String
        /// The number of requests that used the cache since the process started.
        var requests: Int64
    }

    /// The time when the process started, or last reloaded its configuration. Rules count requests
    /// from then on.
    var since: String
    /// The rules, in the order of the file.
    var rules: [Rule]
    /// The routes, most used first.
    var routes: [Route]

    init(_ uses: [RuleUse], _ routes: LabelCounts, _ status: ConfigurationStatus, since start: Timestamp) {
        since = EndTime.text(max(start, status.loadedAt))
        rules = uses.map {
            Rule(name: $0.name, line: $0.line, match: $0.conditions, settings: $0.settings, matched: $0.uses)
        }
        self.routes = routes.counts.map { Route(name: $0.key, requests: $0.value) }
            .sorted { ($1.requests, $0.name) < ($0.requests, $1.name) }
    }
}
