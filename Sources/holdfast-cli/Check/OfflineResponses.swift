import Foundation
import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import Holdfast
import HoldfastConfiguration
import HoldfastGateway

/// The responses that are not served offline, at the latest once they are stale: a directive or a
/// limit forbids stale use, rules exclude them or change their keys, no route leads to them, they
/// were stored for clients that use another scheme, or they are errors or parts. RFC 9111 §4.2.4
struct OfflineResponses {
    /// One route.
    struct Route: Encodable {
        /// How messages refer to the route.
        var route: String
        var origin: String
        /// The directives for which stale responses are refused, unless a rule in ``lifting``
        /// matches.
        var forbidding: [String]
        /// The rules that may override directives for some of the route's targets.
        var lifting: [Lifting]
        /// The stored responses; `nil` if no store was examined.
        var stored: Stored?
    }

    /// A rule that overrides directives for the requests that it matches.
    struct Lifting: Encodable {
        var rule: String
        var directives: [String]
    }

    /// The stored responses of a route.
    struct Stored: Encodable {
        var responses = 0
        var refused = 0
        /// The number of responses for each reason: ``route``, ``scheme``, or one that
        /// `RuledResponse.offlineRefusal(at:)` returns.
        var refusedBy: [String: Int] = [:]
        /// Some of the refused responses, with their secrets replaced.
        var examples: [String] = []

        static let exampleLimit = 5
        /// The reason for responses that no client finds, because no route leads to them.
        static let route = "route"
        /// The reason for responses that no client finds, because of its scheme.
        static let scheme = "scheme"
    }

    /// Returns a copy that shows references to variables instead of their values.
    func hiding(_ references: References) -> Self {
        var result = self
        for index in routes.indices {
            result.routes[index].route = references.hide(in: routes[index].route)
            result.routes[index].origin = references.hide(in: routes[index].origin)
            for rule in routes[index].lifting.indices {
                result.routes[index].lifting[rule].rule = references.hide(in: routes[index].lifting[rule].rule)
            }
        }
        return result
    }

    private(set) var routes: [Route]
    /// The stored responses that belong to no route; `nil` if there are none or no store was
    /// examined.
    private(set) var others: Stored?
    private let gateway: [GatewayRoute]
    private let routing: ClientRoutes?
    private let rules: RuleSet
    /// The schemes that clients use; empty for a library.
    private let schemes: Set<String>

    /// A response with `no-store` is stored only if a rule overrides the directive, and
    /// `invalidated` is not a directive.
    private static let directives = StaleProhibition.allCases.compactMap { prohibition in
        prohibition.liftedBy.map { ($0, prohibition.rawValue) }
    }.filter { $0.0 != .noStore && $0.0 != .invalidated }

    /// Determines the effect of the rules, without a store.
    ///
    /// - Parameters:
    ///   - served: the gateway's routes with an origin; `nil` for a library, which is a private
    ///     cache.
    ///   - fixed: the gateway's routes with `respond`.
    ///   - schemes: the schemes that the gateway's clients use; empty for a library.
    init(_ served: GatewayRoutes?, _ fixed: FixedRoutes, _ rules: RuleSet, schemes: Set<String>) {
        routing = served.map { ClientRoutes($0, fixed, schemes: schemes) }
        let gateway = served?.routes ?? []
        self.gateway = gateway
        self.schemes = schemes
        self.rules = rules
        routes = gateway.enumerated().map { index, route in
            let lifted = Self.lifted(on: route, rules)
            let rest = Self.directives.filter { !lifted.contains($0.0) }
            let lifting = rules.rules.enumerated().compactMap { index, rule -> Lifting? in
                let patterns = rule.match.urls
                guard patterns.isEmpty || patterns.contains(where: { Self.mayBe($0, about: route) }) else { return nil }
                let settings = rule.settings
                let lifted = (settings.stale.ignore ?? []).union(settings.ignore.directives ?? [])
                let names = rest.filter { lifted.contains($0.0) }.map(\.1)
                return names.isEmpty ? nil : Lifting(rule: rule.name ?? "rule \(index + 1)", directives: names)
            }
            let name = route.name ?? "route \(route.number ?? index + 1)"
            let scheme = route.origin.scheme
            return Route(
                // A forward proxy has a route for each scheme, without an origin of its own.
                route: route.forwards ? "\(name), \(scheme)" : name,
                origin: "\(scheme)://" + (route.forwards ? "*" : "\(route.origin.authority)\(route.origin.pathPrefix)"),
                forbidding: rest.map(\.1),
                lifting: lifting
            )
        }
    }

    /// Returns whether a pattern may match requests to a route's origin. Returns `false` only if
    /// the pattern specifies another origin.
    private static func mayBe(_ pattern: URLPattern, about route: GatewayRoute) -> Bool {
        let text = pattern.text
        guard !route.preservesHost, let begin = text.range(of: "://")?.upperBound else { return true }
        let authority = text[begin...].prefix { $0 != "/" && $0 != "?" }
        guard !text[..<begin].contains("*"), !authority.contains("*"),
            let target = try? TargetURI("\(text[..<begin])\(authority)/")
        else { return true }
        return target.scheme == route.origin.scheme && target.authority == route.origin.authority
    }

    /// Returns the directives that are overridden for every target of a route, by rules that match
    /// the whole route.
    private static func lifted(on route: GatewayRoute, _ rules: RuleSet) -> PolicyOverrides.Directives {
        let authority = route.preservesHost ? route.host?.replacing("*.", with: "holdfast-check.") : nil
        var lifted = PolicyOverrides.Directives(rawValue: .max)
        for path in ["/holdfast-check", "/holdfast-check/holdfast-check"] {
            let request = HTTPRequest(
                method: .get,
                scheme: route.origin.scheme,
                authority: authority ?? route.origin.authority,
                path: route.origin.pathPrefix + path
            )
            let overrides = rules.rules(for: request).overrides(forContentType: nil)
            lifted.formIntersection(overrides.directivesIgnoredWhenStale.union(overrides.ignoredDirectives))
        }
        return lifted
    }

    /// Counts the stored responses.
    ///
    /// - Throws: `StoreError`
    mutating func count(_ store: CacheManager) async throws {
        var counts = Array(repeating: Stored(), count: routes.count)
        var others = Stored()
        let policy = CachePolicy(kind: gateway.isEmpty ? .private : .shared)
        let now = SystemWallClock().now()
        for try await entry in store.entries(.response) {
            guard case .response(let key)? = entry.key, let response = try await store.response(of: entry) else {
                continue
            }
            // No route serves the responses of a job.
            if entry.partition == .job { continue }
            let target = key.components.target
            let ruled = RuledResponse(response, rules: rules, policy: policy)
            let refused: String? =
                if routing?.find(target) == false {
                    Stored.route
                } else if !ruled.isFound(on: routing, byClientsUsing: schemes) {
                    Stored.scheme
                } else {
                    ruled.offlineRefusal(at: now)
                }
            if let index = route(of: target, ruled) {
                counts[index].add(refused, entry.redactedURI)
            } else {
                others.add(refused, entry.redactedURI)
            }
        }
        for index in routes.indices { routes[index].stored = counts[index] }
        if others.responses > 0 || gateway.isEmpty { self.others = others }
    }

    /// Returns the route that most likely fetched the stored response for a target. Routes whose
    /// clients find the response come first.
    private func route(of target: TargetURI, _ response: RuledResponse) -> Int? {
        let leading = gateway.indices.filter { gateway[$0].mayLead(to: target) }
        let finding = leading.filter { response.isFound(on: gateway[$0], byClientsUsing: schemes) }
        let routes = finding.isEmpty ? leading : finding
        // If the client's host replaces the authority, only requests without a host have the
        // origin's authority.
        return routes.first { !gateway[$0].preservesHost || gateway[$0].origin.host != target.host } ?? routes.first
    }

    /// The result as human-readable lines.
    var lines: [String] {
        guard !routes.isEmpty || others != nil else { return [] }
        var lines = [
            "Offline: fresh stored responses are served; stale ones, up to 'stale.offline', unless a directive forbids it."
        ]
        for route in routes {
            let name = route.route
            if route.forbidding.isEmpty {
                lines.append("  \(name): rules override every directive that forbids stale use")
            } else {
                let rules = route.lifting.map {
                    "rule '\($0.rule)' overrides \(Self.list($0.directives)) for matching requests"
                }
                lines.append(
                    "  \(name): stale responses with \(Self.list(route.forbidding, "or")) get 504"
                        + (rules.isEmpty ? "" : "; " + rules.joined(separator: "; "))
                )
            }
            if let stored = route.stored { lines += stored.lines(name) }
        }
        if let others { lines += others.lines(routes.isEmpty ? "stored" : "no route") }
        return lines
    }

    private static func list(_ names: [String], _ conjunction: String = "and") -> String {
        guard let last = names.last, names.count > 1 else { return names.first ?? "" }
        return names.dropLast().joined(separator: ", ") + " \(conjunction) " + last
    }
}

extension OfflineResponses.Stored {
    fileprivate mutating func add(_ reason: String?, _ uri: String?) {
        responses += 1
        guard let reason else { return }
        refused += 1
        refusedBy[reason, default: 0] += 1
        if let uri, examples.count < Self.exampleLimit { examples.append("\(uri) (\(reason))") }
    }

    /// The reasons that are neither directives nor limits, in words.
    private static let meanings = [
        (route, RuleComparison.noRoute + ", so fetched again"),
        (scheme, "stored for no scheme that clients use ('listen', 'clients.trusted'), so fetched again"),
        (loss(.bypass), "not looked up ('bypass', 'credentials', 'store.methods', 'store.statuses')"),
        (loss(.key), "looked up under another key, so fetched again; 'holdfast rules apply' moves it if possible"),
        (loss(.partial), "a part, which only requests for its bytes get"),
        (loss(.staleError), "an error, such as 404, which is served only while it is fresh"),
    ]

    private static func loss(_ loss: RuledResponse.OfflineLoss) -> String { loss.rawValue }

    /// Returns lines such as `api: 12 of 340 stored responses would get 504 offline: 9 for
    /// must-revalidate, …`, and examples.
    fileprivate func lines(_ name: String) -> [String] {
        guard responses > 0 else {
            return ["  \(name): no stored responses (or they are counted under another route to the same origin)"]
        }
        guard refused > 0 else { return ["  \(name): none of \(responses) stored responses would get 504 offline"] }
        let reasons = refusedBy.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        var lines = [
            "  \(name): \(refused) of \(responses) stored responses would get 504 offline: "
                + reasons.map { "\($0.value) for \($0.key)" }.joined(separator: ", ")
        ]
        lines += examples.map { "    \($0)" }
        for (reason, meaning) in Self.meanings where refusedBy[reason] != nil {
            lines.append("    \(reason): \(meaning)")
        }
        return lines
    }
}

extension OfflineResponses: Encodable {
    private enum CodingKeys: String, CodingKey {
        case routes, others
    }
}
