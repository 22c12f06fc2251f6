import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore

/// Judges what callers got, by the log of what the origins sent and by rules of its own.
struct Oracle {
    let world: World

    func judge(_ call: Call) {
        if let error = call.error { return judge(error, of: call) }
        guard let response = call.response else { return report(call, "ended without response or error") }
        guard let last = entry(response.head.headerFields[.sent]) else {
            return report(call, "served what no origin sent")
        }
        let brought = entry(response.head.headerFields[.brought])
        judgeSource(call, response, last)
        guard last.resource == call.resource, brought.map({ $0.resource == call.resource }) ?? true else {
            return report(call, "served the answer for another target")
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

    // MARK: Who answered

    private func judgeSource(_ call: Call, _ response: CacheResponse, _ last: OriginEntry) {
        let preference = call.request.preference
        let isStoreOnly =
            call.mode == .offline || preference == .storedOnly
            || Rules(call.fields[.cacheControl]).has("only-if-cached")
        if isStoreOnly, response.source != .store { report(call, "answered by the network, which was forbidden") }
        if preference == .networkOnly, call.mode != .offline, response.source != .network {
            report(call, "answered from store, though only the network may")
        }
        if call.request.storage == .never, last.call != call.number {
            report(call, "storage 'never' got another's answer")
        }
        if response.source == .network, last.fateTick > call.answeredTick {
            report(call, "answered before the origin did")
        }
        if response.isValidated, last.kind != .notModified || last.fateTick < call.quiescentTick {
            report(call, "counts as validated, and nobody validated it for this call")
        }
    }

    private func judge(_ error: any Error, of call: Call) {
        if error is CancellationError {
            if !call.isCancelled { report(call, "cancelled, though nobody cancelled it") }
            return
        }
        guard let error = error as? ExchangeError else { return report(call, "threw what is no ExchangeError") }
        switch error.code {
        case .shutDown: if !world.isShutDown { report(call, "shut down, though nobody did") }
        case .offlineMiss:
            let isAllowed =
                call.mode == .offline || call.request.preference == .storedOnly
                || Rules(call.fields[.cacheControl]).has("only-if-cached")
            if !isAllowed { report(call, "missed without asking the origin") }
            judgeMiss(call)
        case .staleForbidden:
            let isAllowed =
                call.mode == .offline || call.request.preference == .storedOnly
                || Rules(call.fields[.cacheControl]).has("only-if-cached") || sawOriginUnreachable(call)
            if !isAllowed { report(call, "refused though the origin can be reached") }
        case .originUnreachable:
            if !sawOriginUnreachable(call) { report(call, "says the origin is away, and it was not") }
            judgeMiss(call)
        case .transportFailed:
            if !call.entries.contains(where: { world.log[$0].fate == .unreachable }), !sawOriginUnreachable(call) {
                report(call, "says the exchange failed, and it did not")
            }
        case .overloaded:
            let options = world.configuration.options
            // Nobody waits for a place for longer than the hard timeout.
            if options.waitingLimit > 100, options.inFlightLimit > 100 || options.hardTimeout == nil {
                report(call, "refused as overloaded")
            }
        default: report(call, "unexpected error")
        }
    }

    /// An answer that was there and may be given is given, when the network is away.
    private func judgeMiss(_ call: Call) {
        guard call.method == .get, call.request.preference != .networkOnly || call.mode == .offline,
            call.fields[.range] == nil, call.fields[.cacheControl] == nil, call.request.storage == .byResponse,
            !world.storeFaultTicks.contains(where: { $0 > call.begunTick }),
            !world.invalidations.contains(where: { $0.isRemoval && ($0.endedTick ?? .max) > call.begunTick }),
            // What came meanwhile took its place, and may forbid what it allowed.
            !world.log.contains(where: {
                $0.resource == call.resource && $0.status == 200 && $0.fateTick > call.begunTick
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
            // A guest's is no user's.
            let isGuests = stored.key.components.partition == .shared && isForOne(stored.head.fields)
            if isGuests, !call.asker.isAnybody { continue }
            // Another variant, without Vary, may hide it; that one answers or forbids.
            guard call.storedAtBeginning.count == 1 else { continue }
            if served.mayBeUsedStale(by: call) { report(call, "failed though entry \(brought.number) was stored") }
        }
    }

    func isSelected(_ brought: OriginEntry, by call: Call) -> Bool {
        !brought.varies || brought.representation?.variant == (call.fields[.acceptLanguage] ?? "none").lowercased()
    }

    // MARK: For whom, and of what

    /// Nobody gets what was made for somebody else.
    private func judgeAudience(_ call: Call, _ response: CacheResponse, _ last: OriginEntry, _ brought: OriginEntry?) {
        for entry in [last, brought].compactMap({ $0 }) where entry.call != call.number {
            guard world.calls.indices.contains(entry.call) else { continue }
            let other = world.calls[entry.call]
            let rules = rules(of: entry)
            if entry === brought {
                if rules.forbidsStorage || entry.fields[.vary] == "*" {
                    report(call, "got call \(other.number)'s answer \(entry.number), which must not be stored")
                }
                if Rules(other.fields[.cacheControl]).has("no-store") || other.request.storage == .never {
                    report(call, "got the answer \(entry.number) to call \(other.number), which said no-store")
                }
            }
            guard other.asker != call.asker else { continue }
            let isShared = world.configuration.kind == .shared
            if isShared, rules.isWhole("private") {
                report(call, "got call \(other.number)'s private answer \(entry.number)")
            }
            if entry === brought, other.asker.isAnybody, response.source == .store,
                let stored = response.stored, isForOne(stored.head.fields)
            {
                report(call, "got answer \(entry.number), which was made for a guest alone")
            }
            guard !other.asker.isAnybody else { continue }
            // A 304 to somebody else freshens what everybody shares, and so does a HEAD that is for
            // everybody.
            if entry !== brought, entry.kind == .notModified || (entry.kind == .head && !isShared) { continue }
            if entry !== brought, let brought, self.rules(of: brought).isForEverybody { continue }
            let allows = rules.isForEverybody || (isShared && rules.has("must-revalidate"))
            if !allows || (!isShared && rules.has("private")) {
                report(call, "got answer \(entry.number), which was made for call \(other.number), somebody else")
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

    /// Whether what is stored so is for the one whose request it answers. RFC 9111 §5.2.2.7
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
        // What is said to nobody in particular may answer anybody.
        if resource.isPersonal, representation.variant != "p:|",
            representation.variant != resource.representation(for: call.fields).variant
        {
            report(call, "got '\(representation.variant)', which is somebody else's")
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
        // A HEAD without validators says nothing of a body, so its head is on none.
        if last.kind == .head || last.fields[.eTag] != nil || last.fields[.lastModified] != nil {
            report(
                call,
                "entry \(last.number) of version \(later.version) renewed the body of version \(representation.version)"
            )
        }
    }

    private func judgeChange(_ call: Call, _ last: OriginEntry) {
        if last.call != call.number { report(call, "an unsafe request got another's answer") }
        guard last.kind == .change, (200..<400).contains(last.status) else { return }
        var expected: [String] = [world.resources[call.resource].uri]
        if let other = world.resources[call.resource].location,
            last.fields[.location] != nil || last.fields[.contentLocation] != nil,
            world.resources[other].host == last.host
        {
            expected.append(world.resources[other].uri)
        }
        let since = world.invalidations.filter { $0.begunTick > last.fateTick && $0.begunTick < call.answeredTick }
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
