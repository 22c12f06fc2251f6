import GatewayRouting
import HoldfastConfiguration
import Logging
import Synchronization

/// Makes the checks of `clients.allow`, `clients.deny` and `limits.requests`, for all requests and
/// for routes. A rate that a new configuration keeps also keeps its buckets.
final class ClientGuards: Sendable {
    private let rates = Mutex<[RateCheck.Subject: RateCheck]>([:])

    /// The checks of a configuration.
    struct Checks {
        var ofAll: [any RequestCheck] = []
        /// The checks by route; empty if no route has any.
        var ofRoutes: [RouteChecks?] = []
    }

    /// Returns the checks of a configuration, which becomes the current one.
    func checks(of configuration: GatewayConfiguration, logger: Logger) -> Checks {
        rates.withLock { rates in
            var making = Making(former: rates, logger: logger)
            let subject = configuration.requestRate.map { RateCheck.Subject(rate: $0) }
            var result = Checks(ofAll: making.checks(configuration.clients, subject))
            if configuration.routes.checkClients {
                for route in configuration.routes.routes {
                    result.ofRoutes.append(route.checksClients ? making.checks(of: route) : nil)
                }
            }
            rates = making.rates
            return result
        }
    }

    private struct Making {
        let former: [RateCheck.Subject: RateCheck]
        let logger: Logger
        var rates: [RateCheck.Subject: RateCheck] = [:]

        init(former: [RateCheck.Subject: RateCheck], logger: Logger) {
            self.former = former
            self.logger = logger
        }

        mutating func checks(of route: GatewayRoute) -> RouteChecks {
            let identity = RateCheck.Subject.Route(
                name: route.name,
                host: route.host?.lowercased(),
                path: route.path
            )
            return RouteChecks(
                checks(route.clients, route.requestRate.map { RateCheck.Subject(rate: $0, route: identity) })
            )
        }

        mutating func checks(
            _ lists: HoldfastConfiguration.Configuration.ClientLists,
            _ subject: RateCheck.Subject?
        ) -> [any RequestCheck] {
            var result: [any RequestCheck] = lists.isEmpty ? [] : [AddressCheck(lists: lists)]
            guard let subject else { return result }
            let rate = rates[subject] ?? former[subject] ?? RateCheck(subject, logger: logger)
            rates[subject] = rate
            result.append(rate)
            return result
        }
    }

    /// The number of clients with a bucket, of all rates.
    var clientCount: Int { rates.withLock { Array($0.values) }.reduce(0) { $0 + $1.clientCount } }
}
