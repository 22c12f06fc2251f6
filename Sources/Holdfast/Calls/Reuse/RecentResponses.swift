import HTTPCache
import HTTPCacheSemantics

/// Responses that came a short time ago, and exchanges that others may join: events in, decisions
/// out.
///
/// Every invalidation in the store ends all of it, because it is not known what it concerned.
struct RecentResponses: Sendable {
    struct Limits: Sendable {
        /// Bytes of content that are kept; one response has at most an eighth of them.
        var bytes: Int
        var responses = 1024
    }

    /// What a call does.
    enum Arrival: Sendable {
        /// It has this response, which came for an earlier call.
        case answered(CacheResponse)
        /// It waits for this exchange, which is under way.
        case joins(Int)
        /// It begins this exchange, and waits for it.
        case leads(Int)
    }

    private struct Kept {
        var response: RecentResponse
        /// How long it is kept: what the calls that it came for chose.
        var window: Duration
        var fence: InvalidationSequence
        /// Grows from response to response: the oldest goes first.
        var number: Int

        func isOld(at now: Timestamp) -> Bool { response.age(at: now) > window }
    }

    private struct Running {
        var identity: ExchangeIdentity
        var callers = 1
        var window: Duration
        var fence: InvalidationSequence
        /// Another response came for its request meanwhile, which may be a newer one.
        var isSuperseded = false
    }

    private let limits: Limits
    private var kept: [RequestIdentity: Kept] = [:]
    private var running: [Int: Running] = [:]
    /// Those that may be joined.
    private var joinable: [ExchangeIdentity: Int] = [:]
    private var nextNumber = 0
    /// Bytes of all that is kept.
    private(set) var bytes = 0

    init(_ limits: Limits) {
        self.limits = limits
    }

    /// Responses that are kept.
    var count: Int { kept.count }

    /// Whether nothing is kept and nothing under way.
    var isEmpty: Bool { kept.isEmpty && running.isEmpty }

    /// A call comes.
    ///
    /// - Parameters:
    ///   - window: how old a response may be that answers it.
    ///   - fence: the store's last invalidation.
    mutating func arrive(
        _ identity: ExchangeIdentity,
        within window: Duration,
        at now: Timestamp,
        _ fence: InvalidationSequence
    ) -> Arrival {
        if let response = recent(identity.request, within: window, at: now, fence) { return .answered(response) }
        if let number = joinable[identity], var exchange = running[number], exchange.fence == fence,
            !exchange.isSuperseded
        {
            exchange.callers += 1
            exchange.window = max(exchange.window, window)
            running[number] = exchange
            return .joins(number)
        }
        nextNumber += 1
        running[nextNumber] = Running(identity: identity, window: window, fence: fence)
        joinable[identity] = nextNumber
        return .leads(nextNumber)
    }

    private mutating func recent(
        _ request: RequestIdentity,
        within window: Duration,
        at now: Timestamp,
        _ fence: InvalidationSequence
    ) -> CacheResponse? {
        guard let found = kept[request] else { return nil }
        if found.fence != fence || found.isOld(at: now) {
            forget(request)
            return nil
        }
        return found.response.age(at: now) <= window ? found.response.answer(at: now) : nil
    }

    /// A call goes away.
    ///
    /// - Returns: whether it was the last that waited for the exchange, which is to be ended then.
    mutating func leave(_ number: Int) -> Bool {
        guard var exchange = running[number] else { return false }
        exchange.callers -= 1
        running[number] = exchange
        guard exchange.callers == 0 else { return false }
        end(number)
        return true
    }

    /// An exchange has its response, or failed.
    ///
    /// - Parameters:
    ///   - response: `nil` where later calls must not have it.
    ///   - fence: the store's last invalidation. Where it is a later one than when the exchange
    ///     began, the response may be older than what was changed, and is not kept.
    mutating func finish(_ number: Int, _ response: RecentResponse?, _ fence: InvalidationSequence) {
        guard let exchange = end(number), let response, exchange.fence == fence, !exchange.isSuperseded,
            response.bytes <= limits.bytes / 8
        else { return }
        forget(exchange.identity.request)
        kept[exchange.identity.request] = Kept(
            response: response,
            window: exchange.window,
            fence: fence,
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

    /// Another response came for a request: nobody who comes later gets an older one.
    mutating func supersede(_ request: RequestIdentity) {
        forget(request)
        for (number, exchange) in running where exchange.identity.request == request {
            running[number]?.isSuperseded = true
        }
    }

    /// What is kept for a request turned out to be of no use.
    mutating func forget(_ request: RequestIdentity) {
        guard let forgotten = kept.removeValue(forKey: request) else { return }
        bytes -= forgotten.response.bytes
    }

    /// Lets go of everything.
    mutating func forgetAll() {
        kept = [:]
        bytes = 0
    }

    /// Lets go of what is too old.
    ///
    /// - Returns: how long it is until the next one is; `nil` where none is kept.
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
