import HTTPCache
import HTTPCacheSemantics
import HTTPTypes

extension Oracle {
    /// Nothing is served stale without permission, and no invalidated response is served again.
    func judgeTime(_ call: Call, _ response: CacheResponse, _ last: OriginEntry, _ brought: OriginEntry?) {
        judgeRemoval(call, last, brought)
        let isInvalidated = isInvalidated(last, before: call)
        guard response.source == .store else { return judgeNetworkTime(call, response, last, isInvalidated) }
        guard let stored = response.stored else { return report(call, "from store without a stored response") }
        judgeHead(call, response, last)
        judgeChanged(call, last)
        let served = Served(
            stored.head.fields,
            explicitExpiry: stored.head.explicitExpiry,
            status: stored.head.status.code,
            last: last,
            now: call.begunAt,
            world: world,
            isInvalidated: isInvalidated,
            claimedAge: response.ageMilliseconds
        )
        judgeExplicitExpiry(call, served, last)
        // A client's malformed request may have provoked it.
        if served.status == 400 { report(call, "a 400 from the store") }
        let time = served.timeToLive
        if served.explicitExpiry == nil {
            if response.ageMilliseconds != served.age {
                report(call, "age \(response.ageMilliseconds), which is \(served.age)")
            }
            let age = min(served.age / 1000, 1 << 31)
            if response.head.headerFields[.age] != "\(age)" {
                report(call, "Age \(response.head.headerFields[.age] ?? "-"), which is \(age)")
            }
            let seconds = Int64((Double(time) / 1000).rounded(.down))
            if !served.isOfUnknownAge, response.outcome.timeToLive != seconds {
                report(call, "ttl \(response.outcome.timeToLive ?? 0), which is \(seconds)")
            }
        }
        if !response.isStale, !served.isFresh || isInvalidated {
            report(call, "stale without a statement of it (ttl \(time))")
        }
        judgePermission(call, response, served)
    }

    private func judgePermission(_ call: Call, _ response: CacheResponse, _ served: Served) {
        var preference = call.request.preference
        switch (call.mode, preference) {
        case (.offline, _): preference = .storedOnly
        case (.preferStored, .standard), (.preferStored, .networkFirst): preference = .storedFirst
        default: break
        }
        let mayBeServed = served.mayBeServed(call)
        if mayBeServed, preference != .networkFirst, preference != .networkOnly { return }
        let mayBeStale = served.mayBeUsedStale(by: call)
        let isGood = mayBeServed || (mayBeStale && served.status < 400)
        if isGood, preference == .storedFirst || preference == .storedOnly { return }
        if preference != .networkOnly {
            if isGood, sawOriginUnreachable(call) { return }
            let detail = response.outcome.detail?.description
            if detail == "stale-if-error", served.allowsStaleOnError(call), sawServerError(call) { return }
            // Too many requests wait for the origin: a stale response may replace the cache's own
            // 503. RFC 5861 §4
            if detail == "overloaded", served.allowsStaleOnError(call) { return }
            // With the preference `networkFirst`, the stored response is served if no request could
            // be sent.
            if detail == "overloaded", isGood, preference == .networkFirst { return }
            let mayStandIn = mayBeStale && served.status < 400 && !served.isInvalidated
            let options = world.optionsInForce
            if detail == "slow", mayStandIn, options.contains(where: { $0.softTimeout != nil }) { return }
            if detail == "guarded", mayStandIn, options.contains(where: { $0.goodDataGuard != nil }) { return }
        }
        report(
            call,
            "served from store without permission (ttl \(served.timeToLive), invalidated \(served.isInvalidated), may be stale \(mayBeStale))"
        )
    }

    /// A network response is new or usable: a call that joins late gets nothing stale.
    private func judgeNetworkTime(_ call: Call, _ response: CacheResponse, _ last: OriginEntry, _ isInvalidated: Bool) {
        if isInvalidated { report(call, "the network's response \(last.number) was requested before the invalidation") }
        guard last.fateTick < call.quiescentTick, last.fateAt < call.begunAt, last.call != call.number,
            !response.isValidated
        else { return }
        let isStoredFirst = call.mode == .preferStored && call.request.preference == .networkFirst
        if [.networkFirst, .networkOnly].contains(call.request.preference), !isStoredFirst {
            report(
                call,
                "joined the response \(last.number) that had started before, instead of a request to the origin"
            )
        }
        // The origin responded before this call began: that is reuse, with the rules of a stored
        // response.
        let served = Served(
            last.fields,
            explicitExpiry: expiries(of: last).first,
            status: last.status,
            last: last,
            now: call.begunAt,
            world: world,
            isInvalidated: false
        )
        if !served.mayBeServed(call, isSameCaller: world.calls[last.call].asker == call.asker) {
            report(
                call,
                "joined the response \(last.number) that had started before, ttl \(served.timeToLive), age \(served.age)"
            )
        }
    }

    // MARK: Invalidation

    /// Whether an invalidation ended before the call began, and the response was requested before
    /// the invalidation.
    func isInvalidated(_ entry: OriginEntry, before call: Call) -> Bool {
        world.invalidations.contains { invalidates(entry, $0, before: call) }
    }

    private func invalidates(_ entry: OriginEntry, _ invalidation: Invalidation, before call: Call) -> Bool {
        guard let end = invalidation.endedTick, end < call.begunTick, entry.arrivedTick < invalidation.begunTick
        else { return false }
        return covers(invalidation.scope, entry)
    }

    /// A response that an unsafe method invalidated is not served without the origin: no rule here
    /// permits it. RFC 9111 §4.4
    private func judgeChanged(_ call: Call, _ last: OriginEntry) {
        let isChanged = world.invalidations.contains {
            $0.effect == InvalidationEffect.mark(.unsafeMethod) && invalidates(last, $0, before: call)
        }
        if isChanged { report(call, "served entry \(last.number) from store, which an unsafe method invalidated") }
    }

    private func judgeRemoval(_ call: Call, _ last: OriginEntry, _ brought: OriginEntry?) {
        guard let brought else { return }
        let isRemoved = world.invalidations.contains { invalidation in
            guard invalidation.isRemoval, let end = invalidation.endedTick, end < call.begunTick else { return false }
            return brought.arrivedTick < invalidation.begunTick && covers(invalidation.scope, brought)
        }
        if isRemoved { report(call, "got the body of entry \(brought.number), which was removed") }
    }

    private func covers(_ scope: Invalidation.Scope, _ entry: OriginEntry) -> Bool {
        let resource = world.resources[entry.resource]
        switch scope {
        case .all: return true
        case .target(let uri): return uri == resource.uri
        case .prefix(let uri): return resource.uri.hasPrefix(uri)
        case .host(let host): return resource.host == host
        case .tag(let tag):
            // An error of the resource belongs to none of its groups.
            return world.configuration.options.usesCacheGroups && entry.fields[.groups] != nil
                && resource.groups.contains { "group https://\(resource.host):443 \($0)" == tag }
        case .principal(let name):
            // A shared cache stores only responses that have no owner.
            guard world.configuration.kind == .private, world.calls.indices.contains(entry.call) else { return false }
            return world.calls[entry.call].asker.principal == name && !rules(of: entry).isForEverybody
        case .key(let uri, _):
            // Only responses under this key, requested by any caller.
            return uri == resource.uri && world.calls.indices.contains(entry.call)
                && world.calls[entry.call].asker.isAnybody
        }
    }

    // MARK: Evidence

    /// A request that keeps failing is refused by itself for no longer than this.
    /// docs/decisions/0007
    private static let longestPause: Int64 = 8000

    /// Whether some call found the origin unreachable, recently enough that this call may know of
    /// it.
    func sawOriginUnreachable(_ call: Call) -> Bool {
        let host = world.resources[call.resource].host
        let hardTimeout = world.optionsInForce.compactMap { $0.hardTimeout?.milliseconds }.min() ?? .max
        var isOriginUnreachable = false
        var unreachableAt: Int64 = 0
        for entry in world.log.filter({ $0.host == host }).sorted(by: { $0.fateTick < $1.fateTick }) {
            // A response that arrived after the engine's timeout is ignored.
            let isTooLate = entry.endedAfter - entry.arrivedAfter >= hardTimeout
            switch entry.fate {
            case .unreachable: (isOriginUnreachable, unreachableAt) = (true, entry.endedAfter)
            case .cancelled where isTooLate, .responded where isTooLate:
                (isOriginUnreachable, unreachableAt) = (true, entry.endedAfter)
            case .cancelled: break
            case .responded:
                // Of several events at one instant, the engine may have seen the failure last.
                if entry.fateTick < call.quiescentTick, entry.endedAfter > unreachableAt { isOriginUnreachable = false }
            case .waiting: break
            }
            if entry.fate == .unreachable || (isTooLate && entry.fate != .waiting), entry.resource == call.resource,
                entry.fateTick > call.quiescentTick
                    || call.begunAt - entry.fateAt
                        <= max(longestThrottle, Self.longestPause)
            {
                return true
            }
        }
        // Probes of a host's root leave no entry.
        return isOriginUnreachable || world.unreachable.contains(host)
    }

    private var longestThrottle: Int64 { world.optionsInForce.map(\.failureThrottle.milliseconds).max() ?? 0 }

    private func sawServerError(_ call: Call) -> Bool {
        world.log.contains { entry in
            entry.resource == call.resource && entry.status >= 500
                && (entry.fateTick > call.quiescentTick
                    || call.begunAt - entry.fateAt <= longestThrottle)
        }
    }

    // MARK: Heads

    /// The served head equals that of the response that freshened it last.
    private func judgeHead(_ call: Call, _ response: CacheResponse, _ last: OriginEntry) {
        for name in [HTTPField.Name.cacheControl, .targeted, .expires, .lastModified, .date] {
            guard let sent = last.fields[name], let served = response.head.headerFields[name] else { continue }
            if sent != served { report(call, "\(name) '\(served)', and entry \(last.number) has '\(sent)'") }
        }
    }

    private func expiries(of entry: OriginEntry) -> [Timestamp] {
        guard world.calls.indices.contains(entry.call),
            case .expiring(let expiry) = world.calls[entry.call].request.storage,
            (200..<300).contains(entry.status) || entry.status == 304
        else { return [] }
        return [expiry.instant(storedAt: Timestamp(milliseconds: entry.fateAt))]
    }

    /// An explicit expiry is that of the call that fetched last; a HEAD changes none.
    private func judgeExplicitExpiry(_ call: Call, _ served: Served, _ last: OriginEntry) {
        guard last.kind != .head, last.kind != .part else { return }
        if served.explicitExpiry != expiries(of: last).first {
            report(
                call,
                "expiry \(String(describing: served.explicitExpiry)), and its caller set \(expiries(of: last))"
            )
        }
    }
}

extension Duration {
    var milliseconds: Int64 { components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000 }
}
