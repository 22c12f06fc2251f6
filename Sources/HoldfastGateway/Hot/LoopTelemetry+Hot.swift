import EventLoops
import NIOCore

extension LoopTelemetry {
    /// Counts a hot-table response, and logs it if its level is enabled.
    ///
    /// - Parameters:
    ///   - start: the time when the request's head had arrived.
    ///   - isSecure: whether the request arrived over TLS.
    func recordHotHit(
        _ response: HotResponse,
        since start: NIODeadline,
        isSecure: Bool,
        client: @autoclosure () -> GatewayClient?,
        ordinal: @autoclosure () -> ExchangeRecord.Ordinal?
    ) {
        let duration = NIODeadline.now() - start
        numbers.durations.add(duration.seconds, to: response.durations(isSecure: isSecure, in: self))
        let weight = numbers.counters.addHotHit(
            response.contentLength,
            of: response.route,
            isForecast: response.isForecast
        )
        if let weight, let forecast = response.forecast(at: clock(), weight: weight) {
            numbers.counters.add(forecast, of: response.route, weight: weight)
        }
        log?.write(response, duration, client: client(), ordinal: ordinal())
    }
}
