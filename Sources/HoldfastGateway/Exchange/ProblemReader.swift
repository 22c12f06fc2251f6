import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HTTPWire

/// The client that gets a problem: which URL it requested, what it may learn about origins, and in
/// which form it reads the problem.
struct ProblemReader {
    /// The URL that the client requested, without secret parameters.
    let url: String
    /// Whether the client may read the hosts, ports and paths of origins.
    let isTrusted: Bool
    /// Whether the client gets an HTML page.
    let prefersHTML: Bool
    /// Whether the browser may request the page again by itself. A GET changes nothing, but the
    /// result of a POST would be replaced by a page for GET.
    let mayRetry: Bool
    /// When the route's origin last responded; `nil` if there is no route, or that is not known.
    let lastContact: Timestamp?
    private let route: ProblemRoute?

    /// - Parameter route: `nil` for a request without a route.
    init(
        _ request: GatewayRequest,
        _ client: GatewayClient,
        _ configuration: GatewayConfiguration,
        on route: ProblemRoute?,
        _ contacts: OriginContacts
    ) {
        isTrusted = client.isTrusted(withAll: request.fields, by: configuration)
        let scheme = route?.scheme(of: request)?.rawValue ?? client.scheme(of: request.fields, by: configuration)
        let host = request.authority.map { "\(scheme)://\($0)" } ?? ""
        url = Redaction.uriText(host + request.target, limit: 2048)
        prefersHTML = AcceptedMedia.prefersHTML(request.fields)
        mayRetry = request.method == .get || request.method == .head
        lastContact = route.flatMap { contacts.last(with: $0.origin(of: request)) }
        self.route = route
    }

    /// Returns a problem as a page.
    func page(of problem: Problem, _ requestID: String?) -> ProblemPage {
        ProblemPage(
            problem: problem,
            url: url,
            lastContact: lastContact,
            requestID: requestID,
            retries: problem.isOutage && mayRetry
        )
    }

    /// Returns the page that the route has for a problem; `nil` for the gateway's own page.
    func routePage(for problem: Problem) -> RoutePage? { route?.page(for: problem) }
}
