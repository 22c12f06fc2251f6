import GatewayRouting
import HTTPCache
import HTTPTypes
import HTTPWire
import HoldfastTracing
import NIOCore
import Synchronization

/// The decision about one request, made before the hot table and before the request is decoded.
enum RequestAdmission {
    /// The hot table may have the response.
    case hot(HotKey)
    /// An exchange serves the request, and starts this trace unless the request belongs to one.
    case exchange(TraceID?)
    /// A check rejects the request.
    indirect case rejected(Problem, TraceID?)

    /// The key of the response in the hot table; `nil` if the table is not asked.
    var hotKey: HotKey? { if case .hot(let key) = self { key } else { nil } }

    /// The trace that the request starts, unless it already belongs to one.
    var trace: TraceID? {
        switch self {
        case .hot: nil
        case .exchange(let trace), .rejected(_, let trace): trace
        }
    }
}

extension ClientSession {
    /// Decides about the next request. Both protocols call this once per request, before the hot
    /// table; docs/listeners.md lists the order.
    ///
    /// - Parameter head: the bytes by which the hot table finds responses; `nil` if it cannot serve
    ///   the request.
    func admit(_ head: ByteBuffer?, at now: NIODeadline) -> RequestAdmission {
        let settings = service.engine.settingsVersion
        if admission.settings != settings { renewAdmission(settings) }
        // A request that is traced needs an exchange, because exchanges create spans.
        let trace = service.tracer?.drawTrace()
        // A method of the admission would get a copy of it.
        if admission.isChecked, let problem = admission.ownChecks.firstProblem(at: now) {
            return .rejected(problem, trace)
        }
        // The bytes of a request in a tunnel do not name the scheme of its origin.
        guard let head, trace == nil, !admission.needsFields, scope == nil else { return .exchange(trace) }
        return .hot(HotKey(head, of: admission.traits, settings: settings))
    }
}

extension ClientExchange {
    /// Serves a request that the hot table did not, unless a check rejects it.
    ///
    /// - Parameter repeatsFields: see ``begin(repeatsFields:)``.
    func begin(_ decision: RequestAdmission, repeatsFields: Bool = false) {
        let problem =
            if case .rejected(let problem, _) = decision {
                problem
            } else {
                session.scope?.problem(of: request)
                    ?? session.admission.problem(
                        naming: request.fields,
                        at: record.start,
                        session.service.configuration
                    )
                    ?? routeProblem() ?? hostProblem()
            }
        guard let problem else { return begin(repeatsFields: repeatsFields) }
        session.telemetry.begin(request.method, of: session.client)
        // The next request's fields are compared with those of this one.
        session.known = nil
        let inForce = session.service.inForce
        record.requestID = inForce.requestID(of: request, from: session.admission)
        finish(with: response(to: GatewayService.Rejection(problem: problem), responseContext))
    }

    /// Limits the number of hosts that clients of the forward proxy choose.
    private func hostProblem() -> Problem? {
        let (service, inForce) = (session.service, session.service.inForce)
        guard inForce.hasProxy, let host = request.authority, inForce.configuration.routes.forward(request),
            inForce.configuration.routes.proxy?.isChosenByClients(host.name) == true
        else { return nil }
        let isAdmitted = service.chosenHosts.withLock { $0.admit(host.name, at: record.start) }
        return isAdmitted ? nil : .tooManyHosts
    }

    /// Asks the checks of the request's route. They come after decoding, because only the host and
    /// the path name the route.
    ///
    /// - Returns: the problem that the client gets; `nil` if the request passes.
    private func routeProblem() -> Problem? {
        guard session.admission.checksRoutes, request.target != "*" else { return nil }
        let (service, inForce) = (session.service, session.service.inForce)
        guard !inForce.routeChecks.isEmpty,
            case .route(let choice) = RequestDestination(
                of: request,
                from: session.client,
                inForce,
                rulesHavePaths: service.engine.rulesHavePaths
            ), let checks = inForce.routeChecks[choice.route]
        else { return nil }
        routeChecks = checks
        let problem =
            if session.admission.needsFields {
                checks.requests(of: session.admission.requester(request.fields, inForce.configuration))
                    .firstProblem(at: record.start)
            } else {
                session.problem(on: checks, at: record.start)
            }
        if problem != nil {
            record.route = inForce.routeLabels[choice.route]
            problemRoute = inForce.problemRoutes[choice.route]
        }
        return problem
    }
}
