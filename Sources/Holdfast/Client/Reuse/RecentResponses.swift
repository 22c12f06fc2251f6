import HTTPCache
import HTTPCacheSemantics

/// Recent responses, and the exchanges that calls may join. It receives events and returns
/// decisions.
///
/// Any invalidation in the store ends the reuse of all responses, because it is unknown which
/// responses it affects.
struct RecentResponses: Sendable {
    struct Limits: Sendable {
        /// The maximum number of bytes of content to keep. A single response may use at most one
        /// eighth.
        var bytes: Int
        var responses = 1024
    }

    /// How a call proceeds.
    enum Arrival: Sendable {
        /// It uses this response, which was fetched for an earlier call.
        case reuses(CacheResponse)
        /// It waits for this exchange, which is in flight.
        case joins(Int)
        /// It starts this exchange, and waits for it.
        case leads(Int)
    }

    private struct Kept {
        var response: RecentResponse
        /// How long to keep the response: the longest window of the calls that shared its exchange.
        var window: Duration
        var fencingNumber: InvalidationSequence
        /// The response's sequence number. The lowest number is removed first.
        var number: Int

        func isOld(at now: Timestamp) -> Bool { response.age(at: now) > window }
    }

    private struct Running {
        var identity: ExchangeIdentity
        var callers = 1
        var window: Duration
        var fencingNumber: InvalidationSequence
        /// Whether another, possibly newer, response to the request arrived in the meantime.
        var isSuperseded = false
    }

    private let limits: Limits
    private var kept: [RequestIdentity: Kept] = [:]
    private var running: [Int: Running] = [:]
    /// The exchanges that calls may join.
    private var joinable: [ExchangeIdentity: Int] = [:]
    private var nextNumber = 0
    /// The total number of bytes of all kept responses.
    private(set) var bytes = 0

    init(_ limits: Limits) {
        self.limits = limits
    }

    /// The number of kept responses.
    var count: Int { kept.count }

    /// Whether no response is kept and no exchange is in flight.
    var isEmpty: Bool { kept.isEmpty && running.isEmpty }

    /// Handles a new call.
    ///
    /// - Parameters:
    ///   - window: the maximum age of a response that may be reused.
    ///   - fencingNumber: the number of the store's last invalidation.
    mutating func arrive(
        _ identity: ExchangeIdentity,
        within window: Duration,
        at now: Timestamp,
        _ fencingNumber: InvalidationSequence
    ) -> Arrival {
        if let response = recent(identity.request, within: window, at: now, fencingNumber) { return .reuses(response) }
        if let number = joinable[identity], var exchange = running[number], exchange.fencingNumber == fencingNumber,
            !exchange.isSuperseded
        {
            exchange.callers += 1
            exchange.window = max(exchange.window, window)
            running[number] = exchange
            return .joins(number)
        }
        nextNumber += 1
        running[nextNumber] = Running(identity: identity, window: window, fencingNumber: fencingNumber)
        joinable[identity] = nextNumber
        return .leads(nextNumber)
    }

    private mutating func recent(
        _ request: RequestIdentity,
        within window: Duration,
        at now: Timestamp,
        _ fencingNumber: InvalidationSequence
    ) -> CacheResponse? {
        guard let found = kept[request] else { return nil }
        if found.fencingNumber != fencingNumber || found.isOld(at: now) {
            forget(request)
            return nil
        }
        return found.response.age(at: now) <= window ? found.response.makeResponse(at: now) : nil
    }

    /// Handles the cancellation of a call.
    ///
    /// - Returns: whether it was the last call waiting for the exchange. If so, the exchange must
    ///   be ended.
    mutating func leave(_ number: Int) -> Bool {
        guard var exchange = running[number] else { return false }
        exchange.callers -= 1
        running[number] = exchange
        guard exchange.callers == 0 else { return false }
        end(number)
        return true
    }

    /// Handles the end of an exchange.
    ///
    /// - Parameters:
    ///   - response: the response; `nil` if later calls must not reuse it.
    ///   - fencingNumber: the number of the store's last invalidation. If it has changed since the
    ///   exchange started, the response may be older than the invalidated change, and is not kept.
    mutating func finish(_ number: Int, _ response: RecentResponse?, _ fencingNumber: InvalidationSequence) {
        guard let exchange = end(number), let response, exchange.fencingNumber == fencingNumber, !exchange.isSuperseded,
            response.bytes <= limits.bytes / 8
        else { return }
        forget(exchange.identity.request)
        kept[exchange.identity.request] = Kept(
            response: response,
            window: exchange.window,
            fencingNumber: fencingNumber,
            number: number
        )
        bytes += response.bytes
        while bytes > limits.bytes || kept.count > limits.responses, let oldest = oldest { forget(oldest) }
    }

    private var oldest: RequestIdentity? { kept.min { $0.value.number < $1.value.number }?.key }

    @discardableResult
    private mutating func end(_ number: Int) -> Running? {
        guard let exchange = running.removeValue(forKey: number) else { return nil }
        if joinable[exchange.identity] == number { joinable[exchange.identity] = nil }
        return exchange
    }

    /// Records that a request has a newer response, so that later calls do not get an older one.
    mutating func supersede(_ request: RequestIdentity) {
        forget(request)
        for (number, exchange) in running where exchange.identity.request == request {
            running[number]?.isSuperseded = true
        }
    }

    /// Removes the kept response to a request, because it cannot be used.
    mutating func forget(_ request: RequestIdentity) {
        guard let forgotten = kept.removeValue(forKey: request) else { return }
        bytes -= forgotten.response.bytes
    }

    /// Removes all responses.
    mutating func forgetAll() {
        kept = [:]
        bytes = 0
    }

    /// Removes responses that are too old.
    ///
    /// - Returns: the time until the next response is too old; `nil` if no response is kept.
    mutating func removeOld(at now: Timestamp) -> Duration? {
        var wait: Duration?
        for (request, one) in kept {
            guard !one.isOld(at: now) else {
                forget(request)
                continue
            }
            let left = one.window - one.response.age(at: now) + .milliseconds(1)
            wait = min(wait ?? left, left)
        }
        return wait
    }
}
