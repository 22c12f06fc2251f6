import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore

/// Judges the callers' results by the log of the origins' responses, with its own rules.
struct Oracle {
    let world: World

    func judge(_ call: Call) {
        if let error = call.error { return judge(error, of: call) }
        guard let response = call.response else { return report(call, "ended without response or error") }
        guard let last = entry(response.head.headerFields[.sent]) else {
            return report(call, "served a response that no origin sent")
        }
        let brought = entry(response.head.headerFields[.brought])
        judgeSource(call, response, last)
        guard last.resource == call.resource, brought.map({ $0.resource == call.resource }) ?? true else {
            return report(call, "served the response of another target")
        }
        guard call.method.isSafeByName else { return judgeChange(call, last) }
        judgeAudience(call, response, last, brought)
        judgeVariant(call, response, brought)
        judgeTag(call, response, last, brought)
        judgeTime(call, response, last, brought)
        judgeBody(call, response, last, brought)
    }

    func report(_ call: Call, _ what: String) { world.report(call, what) }

    func entry(_ text: String?) -> OriginEntry? {
        text.flatMap { Int($0) }.flatMap { world.log.indices.contains($0) ? world.log[$0] : nil }
    }

    // MARK: Source

    private func judgeSource(_ call: Call, _ response: CacheResponse, _ last: OriginEntry) {
        let preference = call.request.preference
        let isStoreOnly =
            call.mode == .offline || preference == .storedOnly
            || Rules(call.fields[.cacheControl]).has("only-if-cached")
        if isStoreOnly, response.source != .store { report(call, "served by the network, which was forbidden") }
        if preference == .networkOnly, call.mode != .offline, response.source != .network {
            report(call, "served from store, though only the network may")
        }
        if call.request.storage == .never, last.call != call.number {
            report(call, "storage 'never' got the response of another")
        }
        if response.source == .network, last.fateTick > call.respondedTick {
            report(call, "responded before the origin did")
        }
        if response.isValidated, last.kind != .notModified || last.fateTick < call.quiescentTick {
            report(call, "is reported as validated, without a validation for this call")
        }
    }

    private func judge(_ error: any Error, of call: Call) {
        if error is CancellationError {
            if !call.isCancelled { report(call, "cancelled without a cancellation") }
            return
        }
        guard let error = error as? ExchangeError else {
            return report(call, "threw another error than an ExchangeError")
        }
        switch error.code {
        case .shutDown: if !world.isShutDown { report(call, "reports a shutdown without one") }
        case .offlineMiss:
            let isAllowed =
                call.mode == .offline || call.request.preference == .storedOnly
                || Rules(call.fields[.cacheControl]).has("only-if-cached")
            if !isAllowed { report(call, "missed without a request to the origin") }
            judgeMiss(call)
        case .staleForbidden:
            let isAllowed =
                call.mode == .offline || call.request.preference == .storedOnly
                || Rules(call.fields[.cacheControl]).has("only-if-cached") || sawOriginUnreachable(call)
            if !isAllowed { report(call, "refused though the origin is reachable") }
        case .originUnreachable:
            if !sawOriginUnreachable(call) { report(call, "reports an unreachable origin, which was reachable") }
            judgeMiss(call)
        case .transportFailed:
            if !call.entries.contains(where: { world.log[$0].fate == .unreachable }), !sawOriginUnreachable(call) {
                report(call, "reports a failed exchange that did not fail")
            }
        case .overloaded:
            // No call waits for a permit for longer than the hard timeout.
            let isAllowed = world.optionsInForce.contains {
                $0.waitingLimit <= 100 || ($0.inFlightLimit <= 100 && $0.hardTimeout != nil)
            }
            if !isAllowed {
                report(call, "refused as overloaded")
            }
        default: report(call, "unexpected error")
        }
    }

    /// A stored response that may be served is served if the network is unreachable.
    private func judgeMiss(_ call: Call) {
        guard call.method == .get, call.request.preference != .networkOnly || call.mode == .offline,
            call.fields[.range] == nil, call.fields[.cacheControl] == nil, call.request.storage == .byResponse,
            !world.storeFaultTicks.contains(where: { $0 > call.begunTick }),
            !world.invalidations.contains(where: { $0.isRemoval && ($0.endedTick ?? .max) > call.begunTick }),
            // A later response replaced it, and may forbid its use.
            !world.log.contains(where: {
                $0.resource == call.resource && $0.status < 400 && $0.fateTick > call.begunTick
            })
        else { return }
        for stored in call.storedAtBeginning where stored.head.status.code < 400 && stored.head.status.code != 206 {
            guard let last = entry(stored.head.fields[.sent]), let brought = entry(stored.head.fields[.brought]),
                isSelected(brought, by: call)
            else { continue }
            let served = Served(
                stored.head.fields,
                explicitExpiry: stored.head.explicitExpiry,
                status: stored.head.status.code,
                last: last,
                now: call.begunAt,
                world: world,
                isInvalidated: true
            )
            // A guest's private response is not a user's.
            let isGuests = stored.key.components.partition == .common && isForOne(stored.head.fields)
            if isGuests, !call.asker.isAnybody { continue }
            // Another variant, without `Vary`, may hide it; that one is served or forbids its use.
            guard call.storedAtBeginning.count == 1 else { continue }
            if served.mayBeUsedStale(by: call) { report(call, "failed though entry \(brought.number) was stored") }
        }
    }

    func isSelected(_ brought: OriginEntry, by call: Call) -> Bool {
        !brought.varies || brought.representation?.variant == (call.fields[.acceptLanguage] ?? "none").lowercased()
    }

    // MARK: Audience and content

    /// No caller gets a response that was made for another.
    private func judgeAudience(_ call: Call, _ response: CacheResponse, _ last: OriginEntry, _ brought: OriginEntry?) {
        for entry in [last, brought].compactMap({ $0 }) where entry.call != call.number {
            guard world.calls.indices.contains(entry.call) else { continue }
            let other = world.calls[entry.call]
            let rules = rules(of: entry)
            if entry === brought {
                if rules.forbidsStorage || entry.fields[.vary] == "*" {
                    report(call, "got call \(other.number)'s response \(entry.number), which must not be stored")
                }
                if Rules(other.fields[.cacheControl]).has("no-store") || other.request.storage == .never {
                    report(call, "got the response \(entry.number) to call \(other.number), which has no-store")
                }
            }
            guard other.asker != call.asker else { continue }
            let isShared = world.configuration.kind == .shared
            if isShared, rules.isWhole("private") {
                report(call, "got call \(other.number)'s private response \(entry.number)")
            }
            if entry === brought, other.asker.isAnybody, response.source == .store,
                let stored = response.stored, isForOne(stored.head.fields)
            {
                report(call, "got response \(entry.number), which was made for a guest only")
            }
            guard !other.asker.isAnybody else { continue }
            // A 304 to another caller freshens a shared response, and so does a shareable HEAD.
            if entry !== brought, entry.kind == .notModified || (entry.kind == .head && !isShared) { continue }
            if entry !== brought, let brought, self.rules(of: brought).isForEverybody { continue }
            let allows = rules.isForEverybody || (isShared && rules.has("must-revalidate"))
            if !allows || (!isShared && rules.has("private")) {
                report(call, "got response \(entry.number), which was made for call \(other.number), another principal")
            }
        }
        let isUnvalidated = response.source == .store
        let rules = Rules(response.head.headerFields[.cacheControl])
        if isUnvalidated, response.stored?.head.explicitExpiry == nil,
            !(world.configuration.kind == .shared && response.head.headerFields[.targeted] != nil),
            rules.names("no-cache").contains("x-qualified"), response.head.headerFields[.qualified] != nil
        {
            report(call, "got the field that a qualified no-cache withholds")
        }
    }

    /// Whether a response with these fields is only for its requester. RFC 9111 §5.2.2.7
    private func isForOne(_ fields: HTTPFields) -> Bool { rules(fields).isWhole("private") }

    func rules(of entry: OriginEntry) -> Rules { rules(entry.fields) }

    private func rules(_ fields: HTTPFields) -> Rules {
        let targeted = world.configuration.kind == .shared ? fields[.targeted] : nil
        return Rules(targeted ?? fields[.cacheControl])
    }

    private func judgeVariant(_ call: Call, _ response: CacheResponse, _ brought: OriginEntry?) {
        guard let brought, brought.kind != .error, let representation = brought.representation else { return }
        let resource = world.resources[call.resource]
        if !isSelected(brought, by: call) { report(call, "got variant '\(representation.variant)'") }
        // A response that is not personal may be served to any caller.
        if resource.isPersonal, representation.variant != "p:|",
            representation.variant != resource.representation(for: call.fields).variant
        {
            report(call, "got '\(representation.variant)', which is another principal's")
        }
    }

    /// Head and body are of one version.
    private func judgeTag(_ call: Call, _ response: CacheResponse, _ last: OriginEntry, _ brought: OriginEntry?) {
        guard let brought, let representation = brought.representation, brought.kind != .error else { return }
        let tag = world.resources[call.resource].entityTag(representation)
        if let served = response.head.headerFields[.eTag], let tag, weak(served[...]) != weak(tag[...]) {
            report(call, "entity tag \(served) on the body of \(tag)")
        }
        guard last !== brought, !last.isWrong, let later = last.representation, later.version != representation.version
        else { return }
        // A HEAD without validators does not describe a stored body, so no body has its head.
        if last.kind == .head || last.fields[.eTag] != nil || last.fields[.lastModified] != nil {
            report(
                call,
                "entry \(last.number) of version \(later.version) renewed the body of version \(representation.version)"
            )
        }
    }

    private func judgeChange(_ call: Call, _ last: OriginEntry) {
        if last.call != call.number { report(call, "an unsafe request got the response of another") }
        guard last.kind == .change, (200..<400).contains(last.status) else { return }
        var expected: [String] = [world.resources[call.resource].uri]
        if let other = world.resources[call.resource].location,
            last.fields[.location] != nil || last.fields[.contentLocation] != nil,
            world.resources[other].host == last.host
        {
            expected.append(world.resources[other].uri)
        }
        let since = world.invalidations.filter { $0.begunTick > last.fateTick && $0.begunTick < call.respondedTick }
        for uri in expected where !since.contains(where: { if case .target(uri) = $0.scope { true } else { false } }) {
            report(call, "succeeded without invalidating \(uri)")
        }
        if world.configuration.options.usesCacheGroups,
            let group = last.fields[.groupInvalidation]?.filter({ $0 != "\"" })
        {
            let tag = "group https://\(last.host):443 \(group)"
            if !since.contains(where: { if case .tag(tag) = $0.scope { true } else { false } }) {
                report(call, "succeeded without invalidating the group '\(group)'")
            }
        }
    }
}
