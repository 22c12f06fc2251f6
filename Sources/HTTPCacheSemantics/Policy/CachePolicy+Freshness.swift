internal import HTTPTypes

extension CachePolicy {
    /// Returns the response's freshness lifetime, counted from its creation at the origin. RFC 9111
    /// §4.2.1
    ///
    /// The first of these that exists applies:
    ///
    /// 1. the caller's ``StoredResponseHead/explicitExpiry``;
    /// 2. an operator's ``PolicyOverrides/lifetime`` (for a status of 400 or above
    ///    ``PolicyOverrides/errorLifetime``);
    /// 3. `s-maxage` in a shared cache;
    /// 4. `max-age`;
    /// 5. `Expires` − `Date` (or the time of receipt if there is no valid `Date`);
    /// 6. an operator's ``PolicyOverrides/defaultLifetime``;
    /// 7. a heuristic (§4.2.2).
    ///
    /// If a targeted field applies (RFC 9213), its `s-maxage` and `max-age` are used and `Expires`
    /// is ignored. For 400, 405, 413, 414, 501 and similar statuses, only the caller's lifetime may
    /// exceed ``maximumErrorLifetime``.
    ///
    /// A malformed directive gives zero, and so does an `Expires` that is repeated or not a date.
    /// If a directive is repeated, its smallest value applies. A response with `no-store` that is
    /// stored only because an operator overrides the directive
    /// (``PolicyOverrides/directivesIgnoredWhenStale``) has no lifetime.
    public func freshnessLifetime(of stored: StoredResponseHead) -> FreshnessLifetime {
        let fields = read(stored)
        return lifetime(of: stored, fields, age(of: stored, fields, at: stored.responseTime))
    }

    /// Returns the response's age. RFC 9111 §4.2.3
    ///
    /// - Setting the clock back never makes an age negative; setting it forward ages the response.
    /// - At ``Timestamp/distantFuture`` every response has the maximum age.
    /// - A time of receipt that is ahead of the clock by more than `Timestamp.clockTolerance`
    ///   also gives the maximum age: the response arrived while the clock was wrong, so its age is
    ///   unknown. The exception is a response that the caller never lets expire.
    public func currentAge(of stored: StoredResponseHead, at now: Timestamp) -> CurrentAge {
        age(of: stored, read(stored), at: now)
    }

    /// Returns the lifetime and the age at an instant.
    public func freshness(of stored: StoredResponseHead, at now: Timestamp) -> Freshness {
        freshness(of: stored, read(stored), at: now)
    }

    /// Returns the first instant at which the stored response is stale; `distantFuture` if it never
    /// becomes stale. A store indexes this instant.
    ///
    /// Only time matters here: `no-cache` and an invalidation, which require validation earlier, do
    /// not change it. The result is valid unless the clock is set back to before the time of
    /// receipt: see ``currentAge(of:at:)``.
    public func freshUntil(_ stored: StoredResponseHead) -> Timestamp {
        if let explicitExpiry = stored.explicitExpiry { return explicitExpiry }
        let fields = read(stored)
        let age = age(of: stored, fields, at: stored.responseTime)
        let lifetime = lifetime(of: stored, fields, age).milliseconds
        // Counted from the time of receipt, so the resident time is not included.
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
            // The result makes "lifetime > age" mean exactly "now is before the expiry".
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

    /// Returns the lifetime that an operator sets, whatever the response states.
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

    /// Returns a heuristic lifetime, for a response without an explicit lifetime, if its status
    /// allows it or if it is `public`. RFC 9111 §4.2.2
    private func heuristicLifetime(of stored: StoredResponseHead, _ fields: StoredFields) -> FreshnessLifetime {
        let none = FreshnessLifetime(milliseconds: 0, source: .none)
        guard let lastModified = fields.lastModified,
            StatusRules.isHeuristicallyCacheable(stored.status.code) || fields.directives.isPublic
        else { return none }
        let unchanged = (fields.date ?? stored.responseTime).milliseconds(since: lastModified)
        let cap = DeltaSeconds(seconds: maximumHeuristicLifetime).milliseconds
        guard unchanged > 0, cap > 0, heuristicFraction > 0 else { return none }
        let share = Double(unchanged) * min(heuristicFraction, 1)
        // Compare as floating-point numbers first: converting a number that is too large would
        // trap.
        let milliseconds = share < Double(cap) ? Int64(share) : cap
        return milliseconds > 0 ? FreshnessLifetime(milliseconds: milliseconds, source: .heuristic) : none
    }

    /// Calculates the age with the variables of RFC 9111 §4.2.3, in the same order.
    private func age(of stored: StoredResponseHead, _ fields: StoredFields, at now: Timestamp) -> CurrentAge {
        let dateValue = fields.date ?? stored.responseTime
        // `Date` has whole seconds only, so a difference of less than a second does not indicate
        // age. Compare whole seconds: otherwise every response would start up to a second old, and
        // responses with `max-age=1` would often be stale immediately.
        let responseSecond = stored.responseTime.milliseconds.dividedDown(by: 1000).quotient
        let dateSecond = dateValue.milliseconds.dividedDown(by: 1000).quotient
        let apparentAge = max(0, Timestamp(seconds: responseSecond).milliseconds(since: Timestamp(seconds: dateSecond)))
        let responseDelay = max(0, stored.responseTime.milliseconds(since: stored.requestTime))
        let correctedAgeValue = saturatingSum(fields.age?.milliseconds ?? 0, responseDelay)
        let correctedInitialAge = max(apparentAge, correctedAgeValue)
        // Nothing can expire after the last possible instant, so nothing is fresh at that instant.
        // This matches an index on `freshUntil`.
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

/// Returns the difference, clamped to the range of `Int64`.
func saturatingDifference(_ left: Int64, _ right: Int64) -> Int64 {
    let (difference, overflow) = left.subtractingReportingOverflow(right)
    return overflow ? (left < right ? .min : .max) : difference
}

/// Returns the sum, clamped to the range of `Int64`.
func saturatingSum(_ left: Int64, _ right: Int64) -> Int64 {
    let (sum, overflow) = left.addingReportingOverflow(right)
    return overflow ? (right < 0 ? .min : .max) : sum
}
