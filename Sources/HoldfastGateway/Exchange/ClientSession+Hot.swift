import EventLoops
import HTTPCache
import HTTPWire
import NIOCore

/// The hot table, for clients of every protocol: a protocol writes the response that this returns,
/// and offers what it wrote for another response.
extension ClientSession {
    /// Returns the response that an identical request got before, and records it, if it is still
    /// valid. The caller writes it.
    ///
    /// - Parameters:
    ///   - start: the time when the request's head had arrived.
    ///   - room: the maximum number of bytes of content.
    func respondHot(
        to key: HotKey,
        since start: NIODeadline,
        at ordinal: ExchangeRecord.Ordinal,
        room: @autoclosure () -> Int = .max
    ) -> HotResponse? {
        guard let response = hot.response(to: key), response.contentLength <= room() else { return nil }
        guard response.prepare(at: service.engine.now, service.engine) else {
            hot.forget(response)
            return nil
        }
        // An exchange asks again, and responds.
        if let route = response.routeChecks, problem(on: route, at: start) != nil { return nil }
        hot.responseCount += 1
        executor.noteHit()
        telemetry.record(response.recorded, since: start, of: client, at: ordinal)
        return response
    }

    /// Returns the response as a candidate for the hot table; `nil` if identical requests may get
    /// other bytes, or if this one is the first.
    func hotCandidate(
        _ key: HotKey?,
        _ hit: ImmediateHit,
        _ head: GatewayResponseHead,
        to request: GatewayRequest,
        of route: RouteLabel,
        _ routeChecks: RouteChecks?
    ) -> HotCandidate? {
        let hidesDetails = service.configuration.hidesCacheStatusDetails
        guard HotBypass.reason(key, hit, head, hidesDetails: hidesDetails, in: hot) == nil,
            let key, let conditions = hit.conditions
        else { return nil }
        return HotCandidate(key, conditions, request, route, routeChecks, in: hot)
    }
}
