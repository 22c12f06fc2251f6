import HTTPWire
import NIOCore

extension ClientSession {
    /// Returns the response to bytes that are not a valid request, and counts and logs it. Such
    /// bytes have no exchange.
    func refuse(
        _ refusal: MessageRefusal,
        since start: NIODeadline,
        at ordinal: ExchangeRecord.Ordinal
    ) -> GatewayResponse {
        let inForce = service.inForce
        var context = GatewayService.ResponseContext(inForce, nil)
        context.requestID = inForce.requestID(of: nil, from: admission)
        let (head, content) = service.problemResponse(Problem(refusal), context)
        let response = GatewayResponse.whole(head, content)
        var record = ExchangeRecord(client: client, route: RouteLabels.none, start: start, end: .now())
        record.requestID = context.requestID
        record.ordinal = ordinal
        record.take(response)
        telemetry.record(record)
        return response
    }
}
