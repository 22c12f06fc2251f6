internal import HTTPTypes

extension CachePolicy {
    /// How long the response is fresh, counted from when the origin made it. RFC 9111 §4.2.1
    ///
    /// In this order: the caller's ``StoredResponseHead/explicitExpiry``; an operator's
    /// ``PolicyOverrides/lifetime`` (from 400 on ``PolicyOverrides/errorLifetime``); `s-maxage` in
    /// a shared cache; `max-age`; `Expires` − `Date` (the time of receipt where there is no valid
    /// `Date`); an operator's ``PolicyOverrides/defaultLifetime``; a heuristic (§4.2.2). Where a
    /// targeted field decides (RFC 9213), its `s-maxage` and `max-age` are meant and `Expires` says
    /// nothing. For 400, 405, 413, 414, 501 and their kind no lifetime but the caller's exceeds
    /// ``maximumErrorLifetime``. A directive that is there but malformed counts as zero, as does an
    /// `Expires` that is no date or is given twice; of a directive given twice with different
    /// values the smallest counts. A response that says `no-store`, and is stored because an
    /// operator lifts that (``PolicyOverrides/staleDespite``), has none.
    public func freshnessLifetime(of stored: StoredResponseHead) -> FreshnessLifetime {
        let fields = read(stored)
        return lifetime(of: stored, fields, age(of: stored, fields, at: stored.responseTime))
    }

    /// How old the response is. RFC 9111 §4.2.3
    ///
    /// A clock that was set back never makes an age negative; one that was set forward ages the
    /// response. At ``Timestamp/distantFuture`` every response is as old as can be said. So is one
    /// whose time of receipt lies ahead of the clock by more than ``Timestamp/clockTolerance``: it
    /// came while the clock was wrong, and its age is unknown. Only what the caller lets expire
    /// never is of no age then.
    public func currentAge(of stored: StoredResponseHead, at now: Timestamp) -> CurrentAge {
        age(of: stored, read(stored), at: now)
    }

    /// Lifetime and age at an instant.
    public func freshness(of stored: StoredResponseHead, at now: Timestamp) -> Freshness {
        freshness(of: stored, read(stored), at: now)
    }

    /// The instant from which the stored response is stale (`distantFuture` when never); what a
    /// store indexes.
    ///
    /// Time alone: `no-cache` and an invalidation, which ask for validation sooner, do not change
    /// it. It holds for a clock that is not set back behind the time of receipt: see
    /// ``currentAge(of:at:)``.
    public func freshUntil(_ stored: StoredResponseHead) -> Timestamp {
        if let explicitExpiry = stored.explicitExpiry { return explicitExpiry }
        let fields = read(stored)
        let age = age(of: stored, fields, at: stored.responseTime)
        let lifetime = lifetime(of: stored, fields, age).milliseconds
        // Counted from when it came, so without the time that it has been here since.
        return stored.responseTime.adding(milliseconds: saturatingDifference(lifetime, age.correctedInitialAge))
    }

    func freshness(of stored: StoredResponseHead, _ fields: StoredFields, at now: Timestamp) -> Freshness {
        let age = age(of: stored, fields, at: now)
        return Freshness(lifetime: lifetime(of: stored, fields, age), age: age)
    }

    private func lifetime(
        of stored: StoredResponseHead,
        _ fields: StoredFields,
        _ age: CurrentAge
    ) -> FreshnessLifetime {
        if let expiry = stored.explicitExpiry {
            // So that "lifetime > age" says exactly "now is before the expiry".
            guard expiry < .distantFuture else { return FreshnessLifetime(milliseconds: .max, source: .explicitExpiry) }
            let rest = expiry.milliseconds(since: stored.responseTime)
            return FreshnessLifetime(
                milliseconds: saturatingSum(rest, age.correctedInitialAge),
                source: .explicitExpiry
            )
        }
        var result = rulesLifetime(of: stored, fields.overrides) ?? statedLifetime(of: stored, fields)
        if StatusRules.needsExplicitFreshness(stored.status.code) {
            result.milliseconds = min(
                result.milliseconds,
                DeltaSeconds(seconds: maximumErrorLifetime).milliseconds
            )
        }
        return result
    }

    /// What an operator says whatever the response does.
    private func rulesLifetime(of stored: StoredResponseHead, _ overrides: PolicyOverrides?) -> FreshnessLifetime? {
        guard let overrides else { return nil }
        let seconds = stored.status.code < 400 ? overrides.lifetime : overrides.errorLifetime
        return seconds.map { FreshnessLifetime(milliseconds: DeltaSeconds(seconds: $0).milliseconds, source: .rule) }
    }

    private func statedLifetime(of stored: StoredResponseHead, _ fields: StoredFields) -> FreshnessLifetime {
        if fields.directives.forbidsStorage, fields.overrides?.keepsNoStore == true {
            return FreshnessLifetime(milliseconds: 0, source: .none)
        }
        if kind == .shared, let sMaxage = fields.directives.sMaxage {
            return FreshnessLifetime(milliseconds: sMaxage.milliseconds, source: .sMaxage)
        }
        if let maxAge = fields.directives.maxAge {
            return FreshnessLifetime(milliseconds: maxAge.milliseconds, source: .maxAge)
        }
        switch fields.expires {
        case .invalid:
            return FreshnessLifetime(milliseconds: 0, source: .expires)
        case .at(let instant):
            let lifetime = instant.milliseconds(since: fields.date ?? stored.responseTime)
            return FreshnessLifetime(
                milliseconds: min(max(lifetime, 0), DeltaSeconds.maximum.milliseconds),
                source: .expires
            )
        case .absent:
            if let seconds = fields.overrides?.defaultLifetime, stored.status.code < 400 {
                let lifetime = DeltaSeconds(seconds: seconds).milliseconds
                return FreshnessLifetime(milliseconds: lifetime, source: .ruleDefault)
            }
            return heuristicLifetime(of: stored, fields)
        }
    }

    /// RFC 9111 §4.2.2: only where nothing explicit was said, for statuses that allow it or with
    /// `public`.
    private func heuristicLifetime(of stored: StoredResponseHead, _ fields: StoredFields) -> FreshnessLifetime {
        let none = FreshnessLifetime(milliseconds: 0, source: .none)
        guard let lastModified = fields.lastModified,
            StatusRules.isHeuristicallyCacheable(stored.status.code) || fields.directives.isPublic
        else { return none }
        let unchanged = (fields.date ?? stored.responseTime).milliseconds(since: lastModified)
        let cap = DeltaSeconds(seconds: maximumHeuristicLifetime).milliseconds
        guard unchanged > 0, cap > 0, heuristicFraction > 0 else { return none }
        let share = Double(unchanged) * min(heuristicFraction, 1)
        // Compared as numbers with a fraction first: converting one that is too large would trap.
        let milliseconds = share < Double(cap) ? Int64(share) : cap
        return milliseconds > 0 ? FreshnessLifetime(milliseconds: milliseconds, source: .heuristic) : none
    }

    /// RFC 9111 §4.2.3, its variables in its order.
    private func age(of stored: StoredResponseHead, _ fields: StoredFields, at now: Timestamp) -> CurrentAge {
        let dateValue = fields.date ?? stored.responseTime
        // `Date` was cut to whole seconds, so less than a second is no sign of age: compare whole
        // seconds, or every response would be born up to a second old, and one with `max-age=1`
        // often dead.
        let responseSecond = stored.responseTime.milliseconds.dividedDown(by: 1000).quotient
        let dateSecond = dateValue.milliseconds.dividedDown(by: 1000).quotient
        let apparentAge = max(0, Timestamp(seconds: responseSecond).milliseconds(since: Timestamp(seconds: dateSecond)))
        let responseDelay = max(0, stored.responseTime.milliseconds(since: stored.requestTime))
        let correctedAgeValue = saturatingSum(fields.age?.milliseconds ?? 0, responseDelay)
        let correctedInitialAge = max(apparentAge, correctedAgeValue)
        // Behind the last instant there is none at which something could expire. So at that instant
        // nothing is fresh any more, which is what an index of `freshUntil` says of it.
        let isUnknown = stored.responseTime.isAhead(of: now) && stored.explicitExpiry != .distantFuture
        let residentTime =
            now < .distantFuture && !isUnknown ? max(0, now.milliseconds(since: stored.responseTime)) : .max
        return CurrentAge(
            apparentAge: apparentAge,
            responseDelay: responseDelay,
            correctedAgeValue: correctedAgeValue,
            correctedInitialAge: correctedInitialAge,
            residentTime: residentTime,
            milliseconds: saturatingSum(correctedInitialAge, residentTime)
        )
    }
}

/// The sum, clamped to what `Int64` holds.
func saturatingSum(_ left: Int64, _ right: Int64) -> Int64 {
    let (sum, overflow) = left.addingReportingOverflow(right)
    return overflow ? (right < 0 ? .min : .max) : sum
}
