import EventLoops
import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HTTPWire
import HoldfastTracing
import NIOCore

extension ExchangeRecord {
    /// Requests that take longer are logged at the level `notable`.
    static let slowness = TimeAmount.seconds(1)

    /// Whether an operator would look for this request after an incident.
    var isNotable: Bool {
        guard let status, abort == nil, let facts else { return true }
        return facts.isStale || facts.problem != nil || Self.isNotable(status, measuredDuration)
    }

    /// Whether an operator would look for a request only because of its status or its duration.
    static func isNotable(_ status: Int, _ duration: TimeAmount) -> Bool { status >= 400 || duration > slowness }
}

extension AccessLogEntry {
    /// - Parameter route: the name of the record's route.
    init(_ record: ExchangeRecord, route: String?) {
        if let request = record.request { take(request) }
        if record.request?.content == .unknownLength || record.tunnelEnding != nil {
            requestSize = Int64(record.receivedBytes)
        }
        requestID = record.requestID
        (connectionID, connectionRequests) = (record.ordinal?.connection, record.ordinal?.request)
        takeOrigin(record)
        client = record.client.address
        (scheme, tlsVersion) = (record.client.scheme, record.client.tlsVersion)
        status = record.status
        responseSize = Int64(record.sentBytes)
        duration = record.end - record.start
        // A response that is not a stream is written at once, at its end.
        if let first = record.firstByte ?? (record.status == nil ? nil : record.end) {
            firstByte = first - record.start
        }
        self.route = route
        problem = record.errorType
        isAborted = record.abort != nil
        if let span = record.span { (traceID, spanID) = (span.traceText, span.spanText) }
        guard let facts = record.facts else { return }
        var outcome = facts.outcome
        // Content that was cut short is not stored. The head was sent before that was known.
        if record.abort == .content { outcome.isStored = false }
        result = AccessLogResult(facts)
        cacheStatus = outcome.cacheStatus()
        age = facts.age.map { $0 / 1000 }
        timeToLive = outcome.timeToLive
        if outcome.forward != nil { isStored = outcome.isStored && facts.notStored == nil }
        notStored = facts.notStored?.label
    }

    /// Records the origin's part in the response. A fresh hit has no such part, and neither does a
    /// request that the gateway rejects.
    private mutating func takeOrigin(_ record: ExchangeRecord) {
        if let facts = record.facts, facts.ending == nil || facts.ending == .hit { return }
        origin = record.origin
        let report = record.originReport?.facts
        originServer = report?.server
        originStatus = report?.status
        originDuration = report?.duration.timeAmount
        isOriginReused = report?.isReused
    }

    private mutating func take(_ request: GatewayRequest) {
        method = request.method.rawValue
        target = request.target
        authority = request.authority?.description
        protocolVersion = request.receivedProtocol.version
        agent = request.fields[.userAgent]
        referer = request.fields[.referer]
        // The log can write a number of any size.
        if case .length(let length) = request.content { requestSize = length.bytes(upTo: .max) }
    }
}

extension AccessLogResult {
    /// - Returns: `nil` if the response came neither from the store nor from an origin.
    init?(_ facts: ExchangeFacts) {
        let outcome = facts.outcome
        switch facts.ending {
        case .hit: self = .hit
        case .staleHit: self = outcome.detail?.description == "stale-while-revalidate" ? .updating : .stale
        case .validated: self = .revalidated
        case .bypass: self = .bypass
        case .fetched, .collapsed: self = outcome.forward == .stale ? .expired : .miss
        case .refused, .failed, nil: return nil
        }
    }
}
