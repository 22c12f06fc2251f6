import CommandLineSupport
import Foundation
import HTTPCacheExplaining
import HTTPCacheSemantics
import Holdfast
import HoldfastControl

/// The state of one node at some time after a purge.
struct AuditReport: Encodable, Sendable {
    let seconds: Int
    let node: String
    /// `nil` if the node did not respond.
    var clean: Bool?
    var fresh: Int?
    var first: String?
    var problem: String?

    private enum CodingKeys: String, CodingKey {
        case seconds, node, clean, fresh, first, problem
    }

    /// Writes all keys, with `null` for a missing value.
    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(seconds, forKey: .seconds)
        try container.encode(node, forKey: .node)
        try container.encode(clean, forKey: .clean)
        try container.encode(fresh, forKey: .fresh)
        try container.encode(first, forKey: .first)
        try container.encode(problem, forKey: .problem)
    }

    /// The report as one human-readable line.
    var text: String {
        let words: String
        switch clean {
        case true?: words = "clean"
        case false?: words = "\(fresh ?? 0) still fresh, such as \(first ?? "")"
        case nil: words = "unknown: \(problem ?? "")"
        }
        return "\("\(seconds) s".padded(7))\(node)  \(words)".printable
    }
}

/// Finds responses on a node that are still fresh although a purge covers them.
struct AuditedNode: Sendable {
    let client: ControlClient
    let selection: PurgeRequest.Selection
    /// The time of the purge, by this machine's clock.
    let since: Timestamp

    /// The maximum number of responses per node to examine individually.
    private static let closeLooks = 200

    private struct Page: Decodable {
        var responses: [Entry]
        var next: Int64?
    }

    private struct Entry: Decodable {
        var entry: Int64
        var url: String?
        var partition: String?
        var storedAt: String
    }

    private struct Explained: Decodable {
        var explanation: Explanation
    }

    func report(seconds: Int) async -> AuditReport {
        var report = AuditReport(seconds: seconds, node: client.name)
        do {
            // An invalid selector would select nothing, and the node would wrongly seem clean.
            let queries = try await queries(targets())
            let instant = try await nodeTime()
            var looks = Self.closeLooks
            var found: [Int64: String] = [:]
            for query in queries {
                for entry in try await entries(query.parameters) {
                    // A response without a URL may be covered by the purge.
                    guard entry.url.flatMap({ TargetURI(verbatim: $0) }).map(query.covers) ?? true else { continue }
                    if try await isFromBefore(instant, entry, &looks) { found[entry.entry] = shown(entry.url) }
                }
            }
            report.fresh = found.count
            report.clean = found.isEmpty
            report.first = found.min { $0.key < $1.key }?.value
        } catch {
            report.problem = "\(error)"
        }
        return report
    }

    /// Returns the time of the purge by the node's clock.
    private func nodeTime() async throws -> Timestamp {
        let start = SystemWallClock().now()
        let explained: Explained = try await client.get("/v1/explain?url=\(Self.encoded("http://localhost/"))")
        let end = SystemWallClock().now()
        let middle = start.adding(milliseconds: end.milliseconds(since: start) / 2)
        return since.adding(milliseconds: explained.explanation.at.milliseconds(since: middle))
    }

    // MARK: Responses that the purge covers

    /// The parameters of a listing, and a filter for the responses that the purge covers.
    private struct Query {
        var parameters = ""
        var covers: (TargetURI) -> Bool = { _ in true }
    }

    /// Returns the URLs and prefixes that a purge at this node covers. The node's routes and rules
    /// decide under which URLs it stores the responses to those that clients request.
    ///
    /// - Throws: `ControlProblem` if a selector is invalid; `CommandFailure`.
    private func targets() async throws -> PurgeResult.StoredUnder {
        let dryRun = PurgeRequest(selection, dryRun: true)
        _ = try dryRun.scopes()
        var targets = PurgeResult.StoredUnder(urls: selection.urls, prefixes: selection.prefixes)
        guard !targets.urls.isEmpty || !targets.prefixes.isEmpty else { return targets }
        guard let stored = try await client.purge(dryRun).storedUnder else {
            throw CommandFailure(
                "The node's version does not report which URLs a purge covers. "
                    + "Update the node, or audit a tag or a host."
            )
        }
        targets.urls += stored.urls
        targets.prefixes += stored.prefixes
        return targets
    }

    /// - Throws: `TargetURIError` if a selector is invalid.
    private func queries(_ targets: PurgeResult.StoredUnder) throws -> [Query] {
        if selection.all { return [Query()] }
        var queries = selection.tags.map { Query(parameters: "&tag=\(Self.encoded($0))") }
        for prefix in try Self.readings(of: targets.prefixes) {
            queries.append(Query(parameters: "&prefix=\(Self.encoded(prefix.uri))"))
        }
        for wanted in try Self.readings(of: targets.urls) {
            queries.append(Query(parameters: "&prefix=\(Self.encoded(wanted.uri))") { $0 == wanted })
        }
        let hosts = try selection.hosts.map { try TargetHost($0).name }
        // Listings cannot filter by host.
        if !hosts.isEmpty { queries.append(Query(covers: { hosts.contains($0.host) })) }
        return queries
    }

    /// Returns the targets of URLs, without duplicates.
    private static func readings(of urls: [String]) throws -> [TargetURI] {
        try Set(urls.flatMap { try TargetURI.readings(of: $0) }).sorted { $0.uri < $1.uri }
    }

    private func entries(_ query: String) async throws -> [Entry] {
        var entries: [Entry] = []
        var after: Int64? = 0
        while let start = after {
            let page: Page = try await client.get("/v1/responses?state=fresh&limit=1000&after=\(start)\(query)")
            entries += page.responses
            after = page.next
        }
        return entries
    }

    /// Returns whether a fresh response was received from the origin before an instant and has not
    /// been validated since.
    private func isFromBefore(_ instant: Timestamp, _ entry: Entry, _ looks: inout Int) async throws -> Bool {
        let storedAt = EndTime.instant(entry.storedAt) ?? .distantPast
        // A node may store a response from another node later than the origin sent the response.
        if looks > 0, let url = entry.url {
            looks -= 1
            let explained: Explained = try await client.get("/v1/explain?url=\(Self.encoded(url))")
            if let variant = explained.explanation.variants.first(where: { $0.id == entry.entry }) {
                return variant.receivedAt < instant && !variant.isInvalidated
            }
        }
        return storedAt < instant
    }

    private func shown(_ url: String?) -> String { url.flatMap { TargetURI(verbatim: $0)?.redacted } ?? "a response" }

    private static func encoded(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? text
    }
}
