/// Records the origins' responses with their times, and judges the clients' responses.
///
/// A value without a clock: each event comes with its moment. An origin reports a response before
/// it writes it, so that no client can receive a response that the oracle does not know.
struct Oracle: Sendable {
    /// The time in which the gateway must read an origin's bytes.
    static let grace = 2.0
    /// Bytes behind a response cannot be the response to a request that was sent this much later.
    static let crossing = 0.005
    /// Ages are in whole seconds.
    static let rounding = 1.2
    /// The time after its return in which failures of an origin are still excused: connections
    /// broke, the breaker is open.
    static let recovery = 8.0
    /// The delay that an `Age` may include: pauses of an origin, a busy machine.
    static let delay = 15.0

    let noise: Noise
    private(set) var histories: [String: History] = [:]
    private(set) var troubles = Troubles()
    /// Whole responses behind others: when they were written, and the targets of requests that may
    /// have been under way on the same connection by then.
    private var smuggled: [String: (at: Moment, excused: Set<String>)] = [:]
    /// The number of times that the gateway called the honest origin unreachable without a reason.
    private(set) var unexplained = 0

    init(seed: UInt64) { noise = Noise(seed: seed) }

    // MARK: Origins

    /// Called when an origin is about to confirm a version as current.
    ///
    /// - Parameter confirms: whether that permits storing the version or making it fresh: a
    ///   response with content, a 304, a HEAD with a validator.
    mutating func originSends(
        _ resource: Resource,
        _ name: History.Name,
        confirms: Bool,
        as what: String,
        at: Moment
    ) {
        guard !resource.isUnique else { return }
        histories[resource.target, default: History()].recordSending(name, confirms: confirms, at: at)
        note("origin: \(what) of version \(name.version), selector \(name.selector)", resource, at: at)
    }

    /// Called if the connection of a response misbehaved: the response must not be served from the
    /// store any more.
    mutating func originLies(_ resource: Resource, _ name: History.Name, how: String, at: Moment) {
        histories[resource.target, default: History()].taint(name, at: at)
        note("origin: \(how) with version \(name.version)", resource, at: at)
    }

    /// Called if the gateway sent a next request before it could see the surplus bytes.
    mutating func originForgives(_ resource: Resource, _ name: History.Name, at: Moment) {
        histories[resource.target]?.forgive(name)
        note("origin: a request came before the bytes behind version \(name.version)", resource, at: at)
    }

    /// Called when a whole response without a request was written behind another one.
    ///
    /// - Parameter at: infinite before it is written.
    mutating func originSmuggles(_ number: Int, at: Moment) {
        smuggled["\(number)"] = (at, smuggled["\(number)"]?.excused ?? [])
    }

    /// Whether the bytes behind a response were taken for the response to a request that was under
    /// way by then. No gateway can detect that.
    private mutating func excusesSmuggled(_ response: ReceivedResponse, _ exchange: ObservedExchange) -> Bool {
        guard let number = response["x-soak-smuggled"], !exchange.request.resource.isHonest,
            let known = smuggled[number]
        else { return false }
        let target = exchange.request.resource.target
        if exchange.sentAt < known.at + Self.crossing { smuggled[number]?.excused.insert(target) }
        return smuggled[number]?.excused.contains(target) == true
    }

    mutating func note(_ event: String, _ resource: Resource, at: Moment) {
        histories[resource.target, default: History()].append(event, at: at)
    }

    // MARK: Faults

    mutating func troubleBegins(_ place: Troubles.Place, at: Moment) { troubles.begin(place, at: at) }

    mutating func troubleEnds(_ place: Troubles.Place, at: Moment) {
        troubles.end(place, at: at)
        guard place == .gateway else { return }
        // The gateway was stopped or killed before it could read the bytes behind a response.
        for target in histories.keys {
            let since = troubles.spans.last { $0.place == .gateway }?.from ?? at
            histories[target]?.forgetTaints(after: since - Self.grace)
        }
    }

    func isTroubled(_ place: Troubles.Place, from: Moment, to: Moment) -> Bool {
        troubles.touch(place, from: from - (place == .origin ? Self.recovery : 0), to: to)
    }

    // MARK: Responses

    /// - Returns: the violations; empty if there are none.
    mutating func judge(_ exchange: ObservedExchange) -> [Finding] {
        var findings: [Finding] = []
        switch exchange.result {
        case .timedOut:
            findings.append(
                Finding(rule: .timeOut, expected: "a response", got: "no response within the timeout")
            )
        case .malformed(let how):
            findings.append(Finding(rule: .malformed, expected: "a response by RFC 9112 or 9113", got: how))
        case .ended(let how):
            if !excusesEnd(exchange) {
                findings.append(Finding(rule: .vanished, expected: "one response to each request", got: how))
            }
        case .response(let response):
            if exchange.behind > 0, response["connection"] == "close", !exchange.request.closes,
                !excusesEnd(exchange)
            {
                let expected = "a connection that is kept: \(exchange.behind) requests wait on it"
                findings.append(Finding(rule: .vanished, expected: expected, got: "Connection: close"))
            }
            if excusesSmuggled(response, exchange) || excusesCut(response, exchange) { break }
            findings += response.isOfOrigin ? judgeResponse(response, exchange) : judgeOwn(response, exchange)
        }
        let resource = exchange.request.resource
        for index in findings.indices {
            findings[index].exchange = exchange
            findings[index].history = histories[resource.target]?.lines(until: exchange.endedAt) ?? []
        }
        learn(exchange)
        return findings
    }

    /// A successful change through the gateway invalidates earlier versions.
    private mutating func learn(_ exchange: ObservedExchange) {
        guard case .response(let response) = exchange.result, exchange.request.isUnsafe,
            (200..<300).contains(response.status), let version = response.version,
            !exchange.request.resource.isUnique
        else { return }
        let resource = exchange.request.resource
        let cause = "\(exchange.request.method) got \(response.status)"
        histories[resource.target, default: History()].invalidate(below: version, at: exchange.endedAt, cause: cause)
        note("client: \(cause), version \(version)", resource, at: exchange.endedAt)
    }

    private func excusesEnd(_ exchange: ObservedExchange) -> Bool {
        if troubles.touch(.gateway, from: exchange.connectedAt, to: exchange.endedAt) { return true }
        guard exchange.request.resource.isHonest else { return true }
        return isTroubled(.origin, from: exchange.connectedAt, to: exchange.endedAt)
    }

    /// Whether only the end of the connection delimits the content, and that came early.
    private func excusesCut(_ response: ReceivedResponse, _ exchange: ObservedExchange) -> Bool {
        exchange.request.isHTTP10 && response["content-length"] == nil && excusesEnd(exchange)
    }

    /// A response that the gateway made: an error that needs a reason.
    private mutating func judgeOwn(_ response: ReceivedResponse, _ exchange: ObservedExchange) -> [Finding] {
        let request = exchange.request
        switch response.status {
        case 502, 503, 504:
            let isExplained =
                !request.resource.isHonest || isTroubled(.origin, from: exchange.sentAt, to: exchange.endedAt)
                || troubles.touch(.gateway, from: exchange.connectedAt, to: exchange.endedAt)
            if !isExplained { unexplained += 1 }
            return []
        case 416 where request["range"] != nil:
            return []
        case 304 where request["if-none-match"] != nil:
            // It need not repeat the fields of the stored response, but for the tag.
            guard let tag = response["etag"], tag == request["if-none-match"],
                let (version, selector) = Representation.version(ofTag: tag), selector == request.selector
            else {
                return [
                    Finding(
                        rule: .tag,
                        expected: "a 304 for \(request["if-none-match"] ?? "")",
                        got: "one for \(response["etag"] ?? "none")"
                    )
                ]
            }
            return [judgeValidity(response, exchange, version)].compactMap(\.self)
        default:
            return [
                Finding(rule: .refused, expected: "the resource", got: "\(response.status) that the gateway generated")
            ]
        }
    }

    private func judgeResponse(_ response: ReceivedResponse, _ exchange: ObservedExchange) -> [Finding] {
        let request = exchange.request
        if let finding = judgeIdentity(response, request) { return [finding] }
        guard let version = response.version else {
            return [Finding(rule: .unknownVersion, expected: "a version", got: "none")]
        }
        let current = Representation(request.resource, version: version, selector: request.selector, noise: noise)
        let checks = [
            judgeInterim(response, exchange),
            judgeMessage(response, request, current),
            judgeContent(response, request, current),
            judgeUpload(response, request),
            judgeValidity(response, exchange, version),
        ]
        return checks.compactMap(\.self)
    }
}
