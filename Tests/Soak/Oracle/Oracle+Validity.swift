/// Whether a version might be served when it was.
extension Oracle {
    func judgeValidity(_ response: ReceivedResponse, _ exchange: ObservedExchange, _ version: Int) -> Finding? {
        let request = exchange.request
        guard !request.isUnsafe, !request.resource.isUnique else { return nil }
        guard let status = response["cache-status"].flatMap({ CacheStatus($0) }) else {
            return Finding(rule: .freshness, expected: "a Cache-Status of 'holdfast'", got: "none")
        }
        let name = History.Name(version: version, selector: request.selector)
        let history = histories[request.resource.target]
        guard let history, let appearance = history.appearances[name] else {
            if let history, version <= history.forgotten {
                return judgeInvalidation(status, exchange, version, history)
            }
            return Finding(rule: .unknownVersion, expected: "a version that the origin sent", got: "\(version)")
        }
        return judgeInvalidation(status, exchange, version, history)
            ?? judgeTaint(status, exchange, appearance)
            ?? judgeForwarding(status, exchange, appearance)
            ?? judgeFreshness(status, response, exchange, appearance)
    }

    /// The gateway never reports a version as valid that a change through it invalidated. RFC 9111
    /// §4.4
    private func judgeInvalidation(
        _ status: CacheStatus,
        _ exchange: ObservedExchange,
        _ version: Int,
        _ history: History
    ) -> Finding? {
        guard let floor = history.floor(at: exchange.sentAt), version < floor.version else { return nil }
        if status.detail == "invalidated", status.ttl.map({ $0 <= 0 }) ?? true { return nil }
        let since = History.seconds(exchange.sentAt - floor.at)
        return Finding(
            rule: .invalidation,
            expected: "version \(floor.version) or later (\(floor.cause), \(since) s before the request), "
                + "or 'detail=invalidated' without a positive ttl",
            got: "version \(version), \(status.words)"
        )
    }

    /// Nothing is stored whose connection had bytes behind it, or broke off.
    private func judgeTaint(
        _ status: CacheStatus,
        _ exchange: ObservedExchange,
        _ appearance: History.Appearance
    ) -> Finding? {
        guard status.isHit, let tainted = appearance.tainted, exchange.sentAt > tainted + Self.grace else { return nil }
        return Finding(
            rule: .tainted,
            expected: "no stored response of a lying connection "
                + "\(History.seconds(exchange.sentAt - tainted)) s before the request",
            got: status.words
        )
    }

    /// Checks that the origin sent a forwarded or validated response after the request began.
    private func judgeForwarding(
        _ status: CacheStatus,
        _ exchange: ObservedExchange,
        _ appearance: History.Appearance
    ) -> Finding? {
        guard !status.isHit, status.forward != nil, status.detail == nil, !status.isCollapsed,
            appearance.last < exchange.sentAt
        else { return nil }
        return Finding(
            rule: .forwarded,
            expected: "a response that the origin sent after the request",
            got: "one sent \(History.seconds(exchange.sentAt - appearance.last)) s before, \(status.words)"
        )
    }

    /// A response that is reported as fresh was current within its lifetime, and its age is not too
    /// low.
    private func judgeFreshness(
        _ status: CacheStatus,
        _ response: ReceivedResponse,
        _ exchange: ObservedExchange,
        _ appearance: History.Appearance
    ) -> Finding? {
        guard status.isHit else { return nil }
        // Without a moment that permitted storing it, it is older than anything.
        let least = exchange.sentAt - (appearance.confirmed ?? -.infinity)
        let ttl = status.ttl ?? 0
        let lifetime = exchange.request.resource.lifetime(status: response.status == 206 ? 200 : response.status) ?? 0
        if status.detail == nil || ttl > 0 {
            guard least <= Double(lifetime) + Self.rounding else {
                return Finding(
                    rule: .freshness,
                    expected: "a version that was current within \(lifetime) s",
                    got: "one last current \(History.seconds(least)) s before the request, \(status.words)"
                )
            }
            guard status.detail != nil || ttl >= 0 else {
                return Finding(rule: .freshness, expected: "a reason for a stale response", got: status.words)
            }
        }
        guard response.status != 416 else { return nil }
        guard let age = response["age"].flatMap({ Double($0) }) else {
            return Finding(rule: .age, expected: "an Age", got: response["age"] ?? "none")
        }
        guard age + Self.rounding >= least else {
            return Finding(rule: .age, expected: "\(History.seconds(least)) s or more", got: "\(Int(age)) s")
        }
        let most = exchange.endedAt - appearance.first + Self.delay
        guard age <= most else {
            return Finding(rule: .age, expected: "\(History.seconds(most)) s or less", got: "\(Int(age)) s")
        }
        return nil
    }
}

extension CacheStatus {
    var words: String {
        [
            isHit ? "hit" : nil, forward.map { "fwd=\($0)" }, isCollapsed ? "collapsed" : nil,
            ttl.map { "ttl=\($0)" }, detail.map { "detail=\($0)" },
        ].compactMap(\.self).joined(separator: "; ")
    }
}
