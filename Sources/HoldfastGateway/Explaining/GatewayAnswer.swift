import HTTPCacheSemantics
import HoldfastConfiguration

/// A response that the gateway makes itself, without the cache and the origin, for tools.
package struct GatewayAnswer: Sendable, Hashable, Encodable {
    /// The status; `nil` for a health check, whose status changes.
    package var status: Int?
    /// The code of the problem, such as `client-not-allowed`; `nil` if the response is none.
    package var code: String?
    /// The setting that decides, such as `clients.deny`.
    package var setting: String
    /// The route that has the setting, such as `route 'shop'`; `nil` for a setting of the top
    /// level.
    package var route: String?
    /// `Location`, without secret parameters.
    package var location: String?
    /// One sentence for people.
    package var summary: String
}

extension GatewayAnswer {
    /// The response to PURGE of a client that may purge.
    static let purge = GatewayAnswer(
        setting: "clients.purgers",
        summary: "Would purge the stored response ('clients.purgers') if the request has a token, or else get 405. "
            + "PURGE is never forwarded."
    )

    init(_ check: HealthCheck) {
        let setting =
            switch check {
            case .all: "health.path"
            case .live: "health.live"
            case .ready: "health.ready"
            }
        self.init(setting: setting, summary: "Would get the gateway's health ('\(setting)').")
    }

    /// - Parameter target: path and query of the request.
    init(_ route: HoldfastConfiguration.Configuration.FixedRoute, to target: String) {
        let location = route.answer.location(for: target).map { Redaction.uriText($0) }
        let line = route.line.map { ", line \($0)" } ?? ""
        self.init(
            status: route.answer.status,
            setting: "respond",
            route: route.subject,
            location: location,
            summary: "Would get \(route.answer.status)\(location.map { " to '\($0)'" } ?? "") from the gateway itself "
                + "('respond' of \(route.subject)\(line))."
        )
    }

    /// - Parameters:
    ///   - setting: the setting that decides.
    ///   - route: the route that has it; `nil` for a setting of the top level.
    init(_ problem: Problem, by setting: String, of route: String? = nil) {
        let place = "'\(setting)'" + (route.map { " of \($0)" } ?? "")
        self.init(
            status: problem.status,
            code: problem.code,
            setting: setting,
            route: route,
            summary: "Would be rejected with \(problem.status) (\(problem.code)) by \(place): \(problem.detail)"
        )
    }
}
