import HTTPCache
import HTTPWire
import NIOCore

/// A response from memory that the hot table may keep for identical requests, in the form in which
/// the client's protocol wrote it.
///
/// A class, because few responses are candidates, and every response passes through the same
/// functions. `@unchecked`: it is used only on the client's event loop.
final class HotCandidate: @unchecked Sendable {
    private let key: HotKey
    private let conditions: ImmediateHit.Conditions
    private let request: GatewayRequest
    private let route: RouteLabel
    private let routeChecks: RouteChecks?
    private let table: HotTable

    /// - Parameters:
    ///   - conditions: the conditions under which identical requests get this response.
    ///   - route: the label of the request's route.
    ///   - routeChecks: the checks of each request on that route.
    init(
        _ key: HotKey,
        _ conditions: ImmediateHit.Conditions,
        _ request: GatewayRequest,
        _ route: RouteLabel,
        _ routeChecks: RouteChecks? = nil,
        in table: HotTable
    ) {
        self.key = key
        self.conditions = conditions
        self.request = request
        self.route = route
        self.routeChecks = routeChecks
        self.table = table
    }

    /// Keeps the response for identical requests.
    ///
    /// - Parameters:
    ///   - content: the content that was written, which may be an encoded form of the stored one.
    ///   - form: the written head.
    func keep(_ head: GatewayResponseHead, _ content: ByteBuffer, as form: HotResponse.Form) {
        // A copy, because the key is a slice of the connection's much larger buffer.
        let bytes = ByteBuffer(bytes: key.head.readableBytesView)
        let recorded = RecordedHit(bytes, request, head, sentBytes: content.readableBytes, of: route)
        table.keep(HotResponse(bytes, hash: key.hash, conditions, form, content, recorded, routeChecks))
    }
}
