package import GatewayRouting
import HTTPCache
package import HTTPCacheSemantics
package import HTTPTypes
import HTTPWire
import HoldfastConfiguration
package import Logging
package import NIOCore

/// Finds out which requests a gateway answers without the cache, for tools.
///
/// It asks the values that serve requests, in the same order. It sends nothing, and no request
/// counts for a rate.
package struct AnswerForecast: Sendable {
    private let inForce: ConfigurationInForce
    private let admission: Admission
    private let rulesHavePaths: Bool

    /// A request, as a client would send it to the gateway.
    package struct Request: Sendable {
        package var target: TargetURI
        package var method = HTTPRequest.Method.get
        package var fields: HTTPFields = [:]
        /// The client's IP address, or `unix`. `nil` if it is not known: lists and rates are then
        /// not asked.
        package var client: String?

        package init(target: TargetURI) { self.target = target }
    }

    /// Creates the forecast of a gateway that has served no request yet.
    package init(_ configuration: GatewayConfiguration, rulesHavePaths: Bool, logger: Logger) {
        let admission = Admission()
        let checks = admission.guards.checks(of: configuration, logger: logger)
        admission.requestChecks = checks.ofAll
        let inForce = ConfigurationInForce(
            configuration,
            instance: 0,
            labels: RouteLabels(),
            routeChecks: checks.ofRoutes
        )
        self.init(inForce, admission, rulesHavePaths: rulesHavePaths)
    }

    /// Creates the forecast of a running gateway.
    init(_ service: GatewayService) {
        self.init(service.inForce, service.admission, rulesHavePaths: service.engine.rulesHavePaths)
    }

    private init(_ inForce: ConfigurationInForce, _ admission: Admission, rulesHavePaths: Bool) {
        self.inForce = inForce
        self.admission = admission
        self.rulesHavePaths = rulesHavePaths
    }

    private var configuration: GatewayConfiguration { inForce.configuration }

    package var routes: GatewayRoutes { configuration.routes }

    /// Whether a path has a dot segment that could evade a route or a rule.
    package func refusesDotSegments(of target: TargetURI) -> Bool {
        routes.refuseDotSegments(of: target.requestTarget, rulesHavePaths: rulesHavePaths)
    }

    /// Returns the gateway's response to PURGE, which it never forwards; `nil` for another method.
    package func answerToPurge(_ asked: Request) -> GatewayAnswer? {
        guard asked.method.isPurge else { return nil }
        let client = asked.client.map { GatewayClient(address: $0, isSecure: asked.target.scheme == "https") }
        let isKnown = client?.mayPurge(by: configuration) ?? !configuration.purgers.isEmpty
        return isKnown ? GatewayAnswer.purge : GatewayAnswer(.purgeNotAllowed, by: "clients.purgers")
    }

    /// The result for one request.
    package struct Result: Sendable {
        /// The gateway's own response; `nil` if the request reaches the cache.
        package var answer: GatewayAnswer?
        /// Further conditions on which the response depends, as notes for people.
        package var notes: [String] = []
    }

    /// Returns the gateway's own response to a request, if it has one.
    package func result(for asked: Request, at now: NIODeadline) -> Result {
        let client = GatewayClient(address: asked.client, isSecure: asked.target.scheme == "https")
        let request = routes.asked(asked.target, asked.method, asked.fields) {
            configuration.fixedRoutes.names(host: $0)
        }
        let requester = asked.client.map { _ in
            ClientAdmission(client, by: admission, settings: 0, configuration).requester(asked.fields, configuration)
        }
        var result = Result()
        let isChecked = !configuration.clients.isEmpty
        result.add(admission.requestChecks, requester, at: now, isListed: isChecked, configuration.requestRate, of: nil)
        guard result.answer == nil else { return result }
        if let answer = answerToPurge(asked) {
            result.answer = answer
            return result
        }
        switch RequestDestination(of: request, from: client, inForce, rulesHavePaths: rulesHavePaths) {
        case .health(let check): result.answer = GatewayAnswer(check)
        case .fixed(let route): result.answer = GatewayAnswer(route, to: request.target)
        case .rejected(let problem):
            result.answer = GatewayAnswer(problem, by: routes.forward(request) ? "forward-proxy" : "routes")
        case .route(let choice):
            guard inForce.routeChecks.indices.contains(choice.route), let checks = inForce.routeChecks[choice.route]
            else { break }
            let route = routes.routes[choice.route]
            let subject = route.name.map { "route '\($0)'" } ?? "the route for '\(route.host ?? "")\(route.path)'"
            let isListed = !route.clients.isEmpty
            result.add(checks.checks, requester, at: now, isListed: isListed, route.requestRate, of: subject)
        }
        return result
    }
}

extension AnswerForecast.Result {
    /// Asks checks, and notes those that cannot be asked.
    ///
    /// - Parameters:
    ///   - requester: the client; `nil` if it is not known.
    ///   - isListed: whether lists decide by the client's address.
    ///   - route: the route that has the checks; `nil` for those of all requests.
    fileprivate mutating func add(
        _ checks: [any RequestCheck],
        _ requester: ClientAddress?,
        at now: NIODeadline,
        isListed: Bool,
        _ rate: HoldfastConfiguration.Configuration.RequestRate?,
        of route: String?
    ) {
        let place = route.map { " of \($0)" } ?? ""
        if let requester {
            for check in checks {
                guard let found = check.forecast(for: requester, at: now) else { continue }
                answer = GatewayAnswer(found.problem, by: found.setting, of: route)
                return
            }
        }
        if requester == nil, isListed {
            notes.append("some clients get 403 ('clients'\(place)); add the client's address to see whether it is one")
        }
        if let rate {
            notes.append(
                "a client that sends more than \(rate.count)/\(rate.period.rawValue) gets 429 ('limits.requests'\(place))"
            )
        }
    }
}

extension GatewayServer {
    /// Finds out which requests the gateway answers without the cache.
    package var forecast: AnswerForecast { AnswerForecast(service) }
}
