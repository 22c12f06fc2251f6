import HTTPTypes
import Hummingbird

/// Adds the control plane: routes about the origin itself, which are neither counted nor forced to
/// fail.
func addControlRoutes(to router: Router<OriginContext>, state: OriginState) {
    router.get("/_statistics") { _, context in
        // The tap keeps every head until a handler takes it; no other handler takes this one.
        _ = state.connections.nextHead(on: context.channel)
        var response = try Response.json(state.ledger.statistics)
        response.headers[.cacheControl] = "no-store"
        return response
    }
    router.post("/_auth/expire") { _, context in
        _ = state.connections.nextHead(on: context.channel)
        state.tokens.expire()
        return Response(status: .noContent, headers: [.cacheControl: "no-store"]).withoutLength
    }
    router.post("/_gates/{name}") { _, context in
        _ = state.connections.nextHead(on: context.channel)
        state.gates.gate(forRequest: try context.parameters.require("name"))?.open()
        return Response(status: .noContent, headers: [.cacheControl: "no-store"]).withoutLength
    }
}
