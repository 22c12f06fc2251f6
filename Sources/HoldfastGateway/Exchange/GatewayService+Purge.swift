import GatewayRouting
import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import HTTPTypes
import HTTPWire
import HoldfastConfiguration
import NIOCore

/// Serves PURGE requests. They are never forwarded.
extension GatewayService {
    /// Returns the name of a PURGE request's client; `nil` if the client may not purge.
    func purgingClient(_ request: GatewayRequest, from client: GatewayClient, _ inForce: ConfigurationInForce)
        -> String?
    {
        let credentials = request.fields[values: .authorization]
        return admission.purger(client, presenting: credentials, inForce.configuration)
    }

    /// Returns the response to a client that may not purge. It does not reveal whether the address
    /// or the token is wrong.
    func purgeRefusal(_ context: ResponseContext) -> GatewayResponse {
        let (head, content) = problemResponse(.purgeNotAllowed, context)
        return .whole(head, content)
    }

    /// Performs the purge of an authorized client.
    func purge(
        _ request: GatewayRequest,
        by client: String,
        from requester: GatewayClient,
        _ inForce: ConfigurationInForce,
        _ context: ResponseContext
    ) async -> GatewayResponse {
        guard let purging = admission.purging else { return purgeRefusal(context) }
        let purge: ClientPurge
        do {
            purge = try clientPurge(request, from: requester, inForce)
        } catch {
            return response(to: error, context, of: request, from: requester)
        }
        let result = await purging.perform(purge, by: client)
        var head = HTTPResponse(status: HTTPResponse.Status(code: result.status))
        head.headerFields[.contentType] = result.status < 400 ? "application/json" : "application/problem+json"
        head.headerFields[.contentLength] = String(result.json.count)
        head.headerFields[.cacheControl] = "no-store"
        if let seconds = result.retryAfter { head.headerFields[.retryAfter] = String(seconds) }
        let facts = ExchangeFacts(CacheOutcome(detail: CacheOutcome.Detail("gateway")))
        return .whole(responseHead(head, facts, context), ByteBuffer(bytes: result.json))
    }

    private func clientPurge(
        _ request: GatewayRequest,
        from requester: GatewayClient,
        _ inForce: ConfigurationInForce
    ) throws -> ClientPurge {
        var purge = try ClientPurge(request.fields)
        guard purge.tags.isEmpty else { return purge }
        guard request.target != "*" else {
            throw Rejection(problem: .invalidPurge("'*' names no response. Name a path, or tags with 'Surrogate-Key'."))
        }
        let routes = inForce.configuration.routes
        let choice = try self.choice(for: request, routes)
        let head = Self.originHead(request, routes.routes[choice.route], path: choice.path, fields: [:])
        guard let target = TargetURI(request: head) else {
            throw Rejection(problem: .invalidPurge("No response can be stored under this URL."))
        }
        try refuseMisdirected(target, request, routes, choice)
        let scheme = requester.scheme(of: request.fields, by: inForce.configuration)
        let url = request.authority.map { "\(scheme)://\($0)\(request.target)" }
        if PurgePattern.prefix(of: target.uri) != nil {
            // The command also takes the client's URL. Clients do not learn the origin's.
            let prefix = url.flatMap(PurgePattern.prefix).map { Redaction.uriText($0) } ?? "URL"
            throw Rejection(
                problem: .invalidPurge(
                    "This is a pattern, and PURGE takes one URL. For all URLs that begin with it, run "
                        + "'holdfast purge --prefix \(prefix)'."
                )
            )
        }
        // A preserved host has a copy for each port that it may keep, and rules may remove
        // parameters from keys.
        let copies = routes.routes[choice.route].authorities(for: request.authority).compactMap { authority in
            var copy = head
            copy.authority = authority
            return TargetURI(request: copy)
        }
        purge.urls = copies.flatMap { engine.keyedTargets(of: $0) }.map(\.uri)
        purge.clientURL = url
        return purge
    }
}

extension Problem {
    static let purgeNotAllowed = Problem(
        .methodNotAllowed,
        title: "The method is not allowed",
        status: 405,
        detail: "This gateway does not forward PURGE, and accepts it only from known clients."
    )
}
