import GatewayRouting
package import HTTPCache
package import HTTPCacheSemantics
import HoldfastConfiguration
import NIOCore
public import ServiceLifecycle
import Synchronization

#if !canImport(ServiceLifecycle)
    #error("The module HoldfastGateway needs the trait 'Gateway' of the package 'holdfast'. Remove 'traits: []'.")
#endif

/// Periodically checks the servers of origins that have `health` configured. A failing server is
/// set aside, and a healthy one is used again.
///
/// The requests bypass the cache, and each uses its own connection. A reload takes effect within a
/// second.
public struct OriginHealthChecks: Service {
    private let transport: OriginTransport
    private let clock: any Clock<Duration>

    /// - Parameter clock: the clock for the time between checks.
    public init(_ transport: OriginTransport, clock: any Clock<Duration> = ContinuousClock()) {
        self.transport = transport
        self.clock = clock
    }

    /// The maximum time between two reads of the configuration.
    private static let longestPause = Duration.seconds(1)

    /// Runs until its task is canceled, or its service group shuts down.
    public func run() async {
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { checks in
                var schedule = CheckSchedule()
                var now = Duration.zero
                while !Task.isCancelled {
                    let (due, pause) = schedule.next(transport.sites, at: now) { .random(in: 0..<1) }
                    for server in due { checks.addTask { await transport.check(server.site, server.number) } }
                    let pausing = min(pause ?? Self.longestPause, Self.longestPause)
                    guard (try? await clock.sleep(for: pausing)) != nil else { break }
                    now += pausing
                }
                checks.cancelAll()
            }
        }
    }

}

/// Decides when to check each server of the origins with `health`. A pure value.
struct CheckSchedule {
    /// A server to check.
    struct Server {
        let site: OriginSite
        let number: Int
    }

    private struct Key: Hashable {
        let site: ObjectIdentifier
        let number: Int
    }

    private var due: [Key: Duration] = [:]

    /// Returns the servers to check now, and the time until the next check; the time is `nil` if
    /// there is nothing to check.
    ///
    /// - Parameters:
    ///   - now: a monotonic time.
    ///   - share: a random number below 1. It spreads the checks of gateways that start together.
    mutating func next(
        _ sites: [OriginSite],
        at now: Duration,
        _ share: () -> Double
    ) -> (servers: [Server], pause: Duration?) {
        var (servers, known): ([Server], [Key: Duration]) = ([], [:])
        for site in sites {
            guard let check = site.plan.settings.health else { continue }
            for number in site.servers.indices {
                let key = Key(site: ObjectIdentifier(site), number: number)
                // The first check runs immediately, because a server may be down from the start.
                let time = due[key] ?? now
                if time <= now { servers.append(Server(site: site, number: number)) }
                known[key] = time <= now ? now + check.interval * (0.9 + share() / 5) : time
            }
        }
        due = known
        return (servers, known.values.min().map { max($0 - now, .milliseconds(1)) })
    }
}

extension OriginTransport {
    /// The origins of the current routes that have their own settings.
    var sites: [OriginSite] {
        let (routes, origins) = routesInUse.withLock { ($0.currentRoutes, $0.origins) }
        return routes.map { origins.sites(of: $0) } ?? []
    }

    /// The servers of these origins and their state, by the origin's URL.
    package var originServers: [String: [OriginCondition.Server]] {
        Dictionary(sites.map { ($0.name, $0.conditions) }) { first, _ in first }
    }

    /// Whether an operator drained every server of the origin to which a target leads.
    package func isDrained(_ target: TargetURI) -> Bool {
        let (routes, origins) = routesInUse.withLock { ($0.currentRoutes, $0.origins) }
        guard let endpoint = routes?.endpoint(for: target), let site = origins.site(of: endpoint) else { return false }
        return site.conditions.allSatisfy(\.isDrained)
    }

    /// Checks one server, and sets it aside or restores it.
    func check(_ site: OriginSite, _ number: Int) async {
        guard let question = site.healthQuestion else { return }
        var isRepeated = true
        while isRepeated {
            guard let answer = await ask(question, site, number) else { return }
            isRepeated = site.noteCheck(of: number, answer.cause, logger)
        }
    }

    /// The result of a health check.
    private struct CheckAnswer: Sendable {
        /// `nil` if the response is good.
        var cause: FailureCause?
    }

    /// Sends a request to a server.
    ///
    /// - Returns: `nil` if the result is unknown.
    private func ask(_ question: OriginQuestion, _ site: OriginSite, _ number: Int) async -> CheckAnswer? {
        let eventLoop = group.next()
        let promise = eventLoop.makePromise(of: CheckAnswer.self)
        let call = ask(question, site, number, on: eventLoop) { promise.succeed(CheckAnswer(cause: $0)) }
        guard let call else {
            promise.succeed(CheckAnswer())
            return nil
        }
        let answer = await withTaskCancellationHandler {
            try? await promise.futureResult.get()
        } onCancel: {
            call.cancel()
            // Ends the wait even while a connection is being opened.
            promise.succeed(CheckAnswer())
        }
        // A canceled check proves nothing.
        return Task.isCancelled ? nil : answer
    }
}
