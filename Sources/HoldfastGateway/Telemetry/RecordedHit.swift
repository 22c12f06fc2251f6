import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HTTPWire
import NIOCore

/// The requests that one hot-table response serves, as metrics, the log and the offline forecast
/// know them.
///
/// Most of these requests need no ``ExchangeRecord``: they add to counters that are looked up once.
final class RecordedHit {
    let route: RouteLabel
    let status: Int
    /// The number of bytes of content per response.
    let sentBytes: Int
    /// Whether these requests get an offline forecast. Only GET requests do.
    let isForecast: Bool
    /// The bytes of the request, as in the hot table's key.
    private let bytes: ByteBuffer
    private let method: HTTPRequest.Method
    private let receivedProtocol: GatewayRequest.ReceivedProtocol
    private let facts: ExchangeFacts
    /// The age and the remaining freshness that the responses state, in seconds.
    private var seconds: (age: Int64, timeToLive: Int64) = (0, 0)
    /// The indexes of the duration metrics, without and with TLS; `nil` until needed.
    private var durations: (plain: Int?, secure: Int?) = (nil, nil)
    private var lastForecast: (forecast: OfflineForecast, at: Timestamp)?
    /// The access log line; `nil` if no line was written for these ``seconds``.
    var line: AccessLogTemplate?

    /// - Parameters:
    ///   - bytes: the request's bytes, to decode if the record is needed.
    ///   - head: the response to the request.
    init(
        _ bytes: ByteBuffer,
        _ request: GatewayRequest,
        _ head: GatewayResponseHead,
        sentBytes: Int,
        of route: RouteLabel
    ) {
        self.route = route
        self.sentBytes = sentBytes
        self.bytes = bytes
        status = head.response.status.code
        (method, receivedProtocol) = (request.method, request.receivedProtocol)
        var facts = head.facts
        facts.forecastSubject = method == .get ? facts.forecastSubject?.detached : nil
        self.facts = facts
        isForecast = facts.forecastSubject != nil
    }

    /// Begins the time during which the responses state this age and this remaining freshness.
    func begin(age: Int64, timeToLive: Int64) {
        seconds = (age, timeToLive)
        line = nil
    }

    /// Returns the index of these requests' durations.
    func durations(isSecure: Bool, in telemetry: LoopTelemetry) -> Int {
        if let number = isSecure ? durations.secure : durations.plain { return number }
        let labels = RequestLabels(
            route: route,
            method: KnownMethods.number(of: method),
            status: status,
            version: receivedProtocol.rawValue,
            isSecure: isSecure
        )
        let number = telemetry.numbers.durations.number(of: labels)
        if isSecure { durations.secure = number } else { durations.plain = number }
        return number
    }

    /// Returns the forecast for these requests in an outage, which may be up to 30 seconds old;
    /// `nil` if they get none. Call this for a sample of the requests. This also counts the
    /// requests for the rules that apply to them.
    ///
    /// - Parameter weight: the number of requests that the sample represents.
    func forecast(at now: Timestamp, weight: UInt64) -> OfflineForecast? {
        facts.forecastSubject?.countUses(Int64(weight))
        if let lastForecast, now >= lastForecast.at, now.milliseconds(since: lastForecast.at) < Self.forecastLife {
            return lastForecast.forecast
        }
        guard let forecast = facts.forecastSubject?.forecast(at: now) else { return nil }
        lastForecast = (forecast, now)
        return forecast
    }

    /// The time for which a forecast is reused, in milliseconds.
    private static let forecastLife: Int64 = 30_000

    /// Returns the record of one of these requests; `nil` if its bytes cannot be decoded.
    func record(
        from start: NIODeadline,
        to end: NIODeadline,
        of client: GatewayClient,
        at ordinal: ExchangeRecord.Ordinal
    ) -> ExchangeRecord? {
        guard let request else { return nil }
        var record = ExchangeRecord(request: request, client: client, route: route, start: start, end: end)
        (record.status, record.sentBytes, record.tier, record.ordinal) = (status, sentBytes, .hot, ordinal)
        var facts = facts
        facts.age = seconds.age * 1000
        facts.outcome.timeToLive = seconds.timeToLive
        record.facts = facts
        return record
    }

    /// The decoded request. It was valid before, so current limits do not apply.
    private var request: GatewayRequest? {
        var limits = MessageLimits()
        (limits.startLine, limits.fieldBlock, limits.fieldCount) = (1 << 30, 1 << 30, 1 << 30)
        switch receivedProtocol {
        case .http10, .http11:
            var decoder = RequestDecoder(limits: limits)
            decoder.append(bytes)
            return (try? decoder.nextHead())?.request
        case .http2:
            return try? HTTP2FieldSection(bytes, limits: limits).head(endsStream: true).request
        }
    }
}
