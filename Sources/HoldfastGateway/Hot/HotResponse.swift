import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HTTPWire
import NIOCore

/// A response from memory in the form in which it is written, kept for the next request with the
/// same key.
///
/// The cache decides whether the response is still valid and how old it is. Only the numbers that
/// depend on the age are rewritten.
final class HotResponse: LoggedHit {
    /// How the head is written in the client's protocol.
    enum Form {
        case http1(HeadTemplate)
        case http2(HTTP2FieldList)
    }

    /// See ``HotKey``.
    let request: ByteBuffer
    let hash: Int
    /// The label of the request's route.
    let route: RouteLabel
    /// The indexes of these requests' duration metrics, without and with TLS; `nil` until needed.
    private var durations: (plain: Int?, secure: Int?) = (nil, nil)
    private let method: HTTPRequest.Method?
    let status: Int
    /// The access log line of these requests; `nil` if no line was written for these ``seconds``.
    var logLine: AccessLogTemplate?
    /// The key of the stored response, and its name in the log once the name was needed.
    private let storedKey: CacheKey?
    private var knownShortID: String?
    /// The seconds in the last written head.
    private(set) var seconds: (age: Int64, timeToLive: Int64) = (0, 0)
    private let conditions: ImmediateHit.Conditions
    private let forecastSubject: OfflineForecast.Subject?
    private var lastForecast: (forecast: OfflineForecast, at: Timestamp)?
    private let form: Form
    let content: ByteBuffer
    private let isContentInline: Bool
    /// The head, with short content, as written for the ages in ``ages``, in milliseconds.
    private var bytes: ByteBuffer
    private var fields: HTTP2Fields?
    private var ages: Range<Int64>

    /// The maximum length of content that is written together with the head: 16 KiB. It is copied
    /// at most twice a second.
    static let inlineLimit = 16 << 10

    /// - Parameters:
    ///   - form: `nil` if the response cannot be rewritten for another time.
    init?(
        _ key: HotKey,
        _ form: Form?,
        hit: ImmediateHit,
        status: Int = 200,
        route: RouteLabel = RouteLabels.none,
        method: HTTPRequest.Method? = .get
    ) {
        // If the settings changed in the meantime, the client may have had other traits.
        guard let conditions = hit.conditions, conditions.settings == key.settings, let form else { return nil }
        // A copy, because the request is a slice of the connection's much larger buffer.
        request = ByteBuffer(bytes: key.head.readableBytesView)
        hash = key.hash
        self.status = status
        self.route = route
        self.method = method
        storedKey = hit.response.stored?.key
        self.conditions = conditions
        forecastSubject = method == .get ? hit.response.forecastSubject?.detached : nil
        if case .http2(let list) = form, !list.isTimed { return nil }
        self.form = form
        content = hit.content
        if case .http1 = form {
            isContentInline = content.readableBytes <= Self.inlineLimit
        } else {
            isContentInline = false
        }
        bytes = ByteBuffer()
        ages = 0..<0
    }

    /// Whether these requests get an offline forecast.
    var isForecast: Bool { forecastSubject != nil }

    /// Returns the forecast for these requests in an outage, which may be up to 30 seconds old;
    /// `nil` if their method gets none. Call this for a sample of the requests. This also counts
    /// the requests for the rules that apply to them.
    ///
    /// - Parameter weight: the number of requests that the sample represents.
    func forecast(at now: Timestamp, weight: UInt64) -> OfflineForecast? {
        forecastSubject?.countUses(Int64(weight))
        if let lastForecast, now >= lastForecast.at, now.milliseconds(since: lastForecast.at) < Self.forecastLife {
            return lastForecast.forecast
        }
        guard let forecast = forecastSubject?.forecast(at: now) else { return nil }
        lastForecast = (forecast, now)
        return forecast
    }

    /// The time for which a forecast is reused, in milliseconds.
    private static let forecastLife: Int64 = 30_000

    /// Returns the index of these requests' duration metrics.
    func durations(isSecure: Bool, in telemetry: LoopTelemetry) -> Int {
        if let number = isSecure ? durations.secure : durations.plain { return number }
        let number = telemetry.number(of: route, method, status, receivedProtocol, isSecure: isSecure)
        if isSecure { durations.secure = number } else { durations.plain = number }
        return number
    }

    /// The approximate size in memory, in bytes, including the store's memory that it keeps alive,
    /// and ``logLine``.
    var cost: Int {
        1536 + request.readableBytes * 5 + headLength * 2 + content.readableBytes * (isContentInline ? 2 : 1)
    }

    private var receivedProtocol: GatewayRequest.ReceivedProtocol {
        switch form {
        case .http1: .http11
        case .http2: .http2
        }
    }

    private var headLength: Int {
        switch form {
        case .http1(let template): template.count
        case .http2(let list): list.cost
        }
    }

    /// Returns the head, followed by the content unless ``rest`` contains it.
    ///
    /// - Returns: `nil` if the response is no longer valid.
    func bytes(at now: Timestamp, _ engine: CacheEngine) -> ByteBuffer? {
        isValid(at: now, engine) ? bytes : nil
    }

    /// Returns the head for HTTP/2.
    ///
    /// - Returns: `nil` if the response is no longer valid.
    func fields(at now: Timestamp, _ engine: CacheEngine) -> HTTP2Fields? {
        isValid(at: now, engine) ? fields : nil
    }

    private func isValid(at now: Timestamp, _ engine: CacheEngine) -> Bool {
        guard let age = engine.revalidateHit(conditions, at: now) else { return false }
        if !ages.contains(age) { write(age) }
        return true
    }

    /// Returns the access log entry, without client, time and duration.
    func logEntry(route name: String?) -> AccessLogEntry? {
        guard let head = decodedRequest else { return nil }
        let size = head.request.method == .head ? 0 : contentLength
        var entry = AccessLogEntry(head.request, status: status, size: size)
        entry.route = name
        (entry.age, entry.timeToLive) = (seconds.age, seconds.timeToLive)
        entry.cacheStatus = CacheOutcome(isHit: true, timeToLive: seconds.timeToLive).cacheStatus()
        return entry
    }

    /// The decoded request. It was valid before, so current limits do not apply.
    private var decodedRequest: RequestHead? {
        var limits = MessageLimits()
        (limits.startLine, limits.fieldBlock, limits.fieldCount) = (1 << 30, 1 << 30, 1 << 30)
        switch form {
        case .http1:
            var decoder = RequestDecoder(limits: limits)
            decoder.append(request)
            return try? decoder.nextHead()
        case .http2:
            return try? HTTP2FieldSection(request, limits: limits).head(endsStream: true)
        }
    }

    /// Returns the stored response's name in the log; `nil` if it has none.
    func shortID(_ identify: (CacheKey) -> String?) -> String? {
        if knownShortID == nil { knownShortID = storedKey.flatMap(identify) }
        return knownShortID
    }

    /// The number of bytes of content.
    var contentLength: Int { content.readableBytes }

    /// The bytes to write after ``bytes(at:_:)``; `nil` if there are none.
    var rest: ByteBuffer? { isContentInline ? nil : content }

    private func write(_ age: Int64) {
        let (seconds, rest) = (age / 1000, conditions.lifetime - age)
        self.seconds = (seconds, rest / 1000)
        logLine = nil
        switch form {
        case .http1(let template):
            bytes = template.bytes(
                age: seconds,
                timeToLive: rest / 1000,
                room: isContentInline ? content.readableBytes : 0
            )
            if isContentInline { bytes.writeImmutableBuffer(content) }
        case .http2(let list):
            fields = list.at(age: seconds, timeToLive: rest / 1000).map { HTTP2Fields($0) }
        }
        // Both numbers stay the same for these ages.
        let lastRest = rest / 1000 * 1000
        let first = max(seconds * 1000, conditions.lifetime - (lastRest + 999))
        ages = first..<min((seconds + 1) * 1000, conditions.lifetime - lastRest + 1)
    }
}
