import HTTPCache
import HTTPCacheSemantics
import HTTPTypes

/// Builds the ``Explanation`` of an exchange.
struct ExplanationBuilder {
    private let engine: CacheEngine
    private let prepared: PreparedRequest
    /// The cache key; `nil` if the request bypasses the store.
    private var key: StoreKey? { prepared.key }
    let now: Timestamp
    var dryRun: DryRun
    /// The milliseconds until the first response arrives that is stored by now; `nil` if there is
    /// none.
    var timeToArrival: Int64?

    private var policy: CachePolicy { dryRun.policy }

    /// - Parameter found: the result of the exchange's lookup.
    init(_ engine: CacheEngine, _ prepared: PreparedRequest, _ found: [StoredResponse], at now: Timestamp) {
        self.engine = engine
        self.prepared = prepared
        self.now = now
        let origin = engine.origin(of: prepared.target)
        dryRun = DryRun(
            prepared: prepared,
            eagerRefresh: engine.options.eagerRefresh,
            candidates: prepared.request.ignoresStored ? [] : found,
            recentFailure: { now in prepared.key.flatMap { engine.throttle.recent($0, at: now)?.failure } },
            isOriginUnreachable: prepared.usesBreaker
                && engine.origins.verdict(origin, { prepared.asked }, at: now) != .reachable,
            isAdmitted: engine.origins.wouldAdmit(origin, prepared.asked, at: now)
        )
    }

    mutating func explanation(isStoreReadable: Bool) async -> Explanation {
        dryRun.decisions = engine.decisions(for: prepared, selected)
        let reachable = await verdict(in: .reachable, at: now)
        let unreachable = await verdict(in: .unreachable, at: now)
        let failing = await verdict(in: .failing, at: now)
        let offline = await verdict(in: .offline, at: now)
        let selected = selected
        return Explanation(
            at: now,
            cache: policy.kind == .shared ? "shared" : "private",
            mode: prepared.mode,
            request: Explanation.Request(
                prepared,
                including: Set(dryRun.candidates.flatMap { policy.varyNames(of: $0.head) }),
                dryRun.decisions
            ),
            rules: dryRun.decisions,
            key: key.map(describe),
            variants: dryRun.candidates.map { describe($0, isSelected: $0.id == selected?.id) },
            isStoreReadable: isStoreReadable,
            selection: selected.map(selection),
            freshness: selected.map { Explanation.Arithmetic($0.head, policy, at: now) },
            origin: originState,
            now: reachable,
            unreachable: unreachable,
            failing: failing,
            offline: offline,
            changes: await changes(after: now)
        )
    }

    // MARK: Outcomes

    /// Returns the outcome in a situation. A stored response that would be served is opened to
    /// check that its body exists.
    private mutating func verdict(in situation: DryRun.Situation, at now: Timestamp) async -> Explanation.Verdict {
        while true {
            let outcome = dryRun.outcome(in: situation, at: now)
            var status: Int?
            if case .serve(let serve) = outcome.course {
                guard let response = await engine.open(serve, for: prepared) else {
                    dryRun.gone.insert(serve.stored.id)
                    continue
                }
                status = response.head.status.code
            }
            return verdict(outcome, status: status)
        }
    }

    private func verdict(_ outcome: DryRun.Outcome, status: Int? = nil) -> Explanation.Verdict {
        let count = dryRun.candidates.count
        let wording = Wording(
            policy: policy,
            candidateCount: count,
            timeToArrival: timeToArrival,
            decisions: dryRun.decisions
        )
        return Explanation.Verdict(outcome, wording, status: status)
    }

    /// Returns the instants at which an outcome changes, with the new outcomes, based on the
    /// currently stored responses.
    private mutating func changes(after start: Timestamp) async -> [Explanation.Change] {
        var changes: [Explanation.Change] = []
        var last: [DryRun.Situation: Explanation.Verdict] = [:]
        for situation in DryRun.Situation.allCases {
            last[situation] = verdict(dryRun.outcome(in: situation, at: start)).lasting
        }
        for point in turningPoints(after: start) {
            var change = Explanation.Change(at: point.instant, ending: point.ending)
            for situation in DryRun.Situation.allCases {
                let lasting = verdict(dryRun.outcome(in: situation, at: point.instant)).lasting
                guard last[situation] != lasting else { continue }
                last[situation] = lasting
                let verdict = await verdict(in: situation, at: point.instant)
                switch situation {
                case .reachable: change.now = verdict
                case .unreachable: change.unreachable = verdict
                case .failing: change.failing = verdict
                case .offline: change.offline = verdict
                }
            }
            if change.isAny { changes.append(change) }
        }
        return changes
    }

    /// The maximum number of turning points to examine. A key can have many variants, and a longer
    /// list does not help a reader.
    private static let turningPointLimit = 256

    private func turningPoints(after start: Timestamp) -> [TurningPoint] {
        var points: [TurningPoint] = []
        for stored in dryRun.candidates {
            points += policy.turningPoints(of: stored.head, for: prepared.request.head)
            let share = prepared.eagerRefresh(of: stored.head, dryRun.eagerRefresh)
            if let limit = prepared.request.reuseWithin?.clampedMilliseconds {
                let received = stored.head.responseTime
                points.append(TurningPoint(ending: "reuse-within", instant: received.adding(milliseconds: -limit)))
                let end = received.adding(milliseconds: limit).adding(milliseconds: 1)
                points.append(TurningPoint(ending: "reuse-within", instant: end))
            }
            if let share, let point = policy.turningPoint(of: stored.head, after: share) { points.append(point) }
        }
        if let key, let until = engine.throttle.recent(key, at: start)?.until {
            points.append(TurningPoint(ending: "failure-throttle", instant: until))
        }
        var seen: Set<Timestamp> = []
        return points.filter { $0.instant > start && $0.instant < .distantFuture }
            .sorted { $0.instant < $1.instant }
            .filter { seen.insert($0.instant).inserted }
            .prefix(Self.turningPointLimit).map(\.self)
    }

    // MARK: Facts

    /// The stored response that is used if the origin can be contacted.
    private var selected: StoredResponse? {
        let outcome = dryRun.outcome(in: .reachable, at: now)
        switch outcome.course {
        case .serve(let serve): return serve.stored
        case .fetch(let fetch), .pass(let fetch, _): return fetch.selected
        case .refuse: return outcome.considered?.stored
        }
    }

    private var originState: Explanation.OriginState? {
        let failure = dryRun.recentFailure(now).map {
            switch $0 {
            case .unreachable: "unreachable"
            case .status(let code): "\(code)"
            }
        }
        guard key != nil, dryRun.isOriginUnreachable || failure != nil else { return nil }
        return Explanation.OriginState(isOriginUnreachable: dryRun.isOriginUnreachable, recentFailure: failure)
    }

    private func selection(of selected: StoredResponse) -> String {
        var matcher = VariantMatcher(policy, prepared.selecting)
        let matching = dryRun.candidates.filter { matcher.matches($0.head) }
        guard matching.count > 1 else {
            return dryRun.candidates.count == 1
                ? "the only one stored" : "the only one that matches the request's fields"
        }
        return "the best of \(matching.count) that match (the principal's own before shared, fresh before stale, "
            + "success before error, then the latest Date)"
    }

    private func describe(_ key: StoreKey) -> Explanation.Key {
        let components = key.components
        return Explanation.Key(
            partition: components.partition.kindWord,
            looksInCommon: prepared.lookupKeys.count > 1,
            method: components.method.rawValue,
            target: components.target.redacted,
            content: components.content.map { $0.sha256.hexadecimal }
        )
    }

    private func describe(_ stored: StoredResponse, isSelected: Bool) -> Explanation.Variant {
        let names = policy.differingFields(of: stored.head, prepared.selecting)
        return Explanation.Variant(
            id: stored.id,
            partition: stored.key.components.partition.kindWord,
            status: stored.head.status.code,
            storedAt: stored.storedAt,
            receivedAt: stored.head.responseTime,
            bodyLength: stored.bodyLength,
            isInvalidated: stored.head.isInvalidated,
            isBodyGone: dryRun.gone.contains(stored.id),
            vary: policy.varyNames(of: stored.head),
            isMatching: names.isEmpty,
            differences: names.map { name in
                Explanation.Difference(
                    name: name,
                    stored: redacted(name, in: stored.head.selectingFields),
                    presented: redacted(name, in: prepared.request.head.headerFields)
                )
            },
            isSelected: isSelected
        )
    }

    private func redacted(_ name: String, in fields: HTTPFields) -> String? {
        let lines = HTTPFields(fields.filter { $0.name.canonicalName == name })
        return lines.isEmpty ? nil : prepared.shown(lines).map(\.value).joined(separator: ", ")
    }
}

extension StoreKey.Partition {
    /// The kind of the partition. It never shows the principal.
    var kindWord: String {
        switch self {
        case .common: "common"
        case .principal: "principal"
        case .credentials: "credentials"
        case .job: "job"
        }
    }
}
