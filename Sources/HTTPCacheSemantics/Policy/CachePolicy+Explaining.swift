package import HTTPTypes

/// An instant at which the result of ``CachePolicy/reuse(of:for:at:)`` may change.
package struct TurningPoint: Sendable, Hashable {
    /// The directive whose time ends, or ``freshness`` for the lifetime itself.
    package var ending: String
    /// The first instant after the end.
    package var instant: Timestamp

    /// The end of the freshness lifetime.
    package static let freshness = "freshness"

    package init(ending: String, instant: Timestamp) {
        self.ending = ending
        self.instant = instant
    }
}

/// The response fields from which freshness was calculated, as received. RFC 9111 §4.2
package struct FreshnessGrounds: Sendable, Hashable {
    /// `date_value`, if the `Date` is valid.
    package var date: Timestamp?
    /// `age_value` in milliseconds, if the `Age` is valid.
    package var age: Int64?
    /// The fields that state the lifetime.
    package var lifetimeFields: HTTPFields
    /// Whether the lifetime was capped at ``CachePolicy/maximumErrorLifetime``.
    package var isCapped: Bool
}

/// Explains the policy's decisions to people. Nothing is decided here.
extension CachePolicy {
    /// Returns the lower-case names of the request fields that keep a stored response from matching
    /// a request.
    ///
    /// `*` represents `Vary: *`, and `vary` a malformed `Vary`. RFC 9111 §4.1
    ///
    /// Each field is compared as if it were the only field in `Vary`.
    package func differingFields(of stored: StoredResponseHead, _ request: HTTPRequest) -> [String] {
        var matcher = VariantMatcher(self, request)
        guard !matcher.matches(stored) else { return [] }
        let vary = FieldNameList(.vary, in: stored.fields)
        if vary.hasWildcard { return ["*"] }
        let scheme = HTTPField.Name.clientScheme.canonicalName
        var unschemed = self
        unschemed.selectsByScheme = false
        matcher = VariantMatcher(unschemed, request)
        var differing = vary.names.filter { name in
            var alone = stored
            alone.fields[fields: .vary] = [HTTPField(name: .vary, value: name)]
            if name != scheme { alone.selectingFields[fields: .clientScheme] = [] }
            return !matcher.matches(alone)
        }
        if !matchesScheme(stored, request), !differing.contains(scheme) { differing.append(scheme) }
        return differing.isEmpty ? [HTTPField.Name.vary.canonicalName] : differing
    }

    /// Returns the lower-case names of the request fields in `Vary`, and the name of the client
    /// scheme if it is recorded. RFC 9111 §4.1
    package func varyNames(of stored: StoredResponseHead) -> [String] {
        let (names, scheme) = (FieldNameList(.vary, in: stored.fields).names, HTTPField.Name.clientScheme)
        let isRecorded = stored.selectingFields.contains(scheme) && !names.contains(scheme.canonicalName)
        return isRecorded ? names + [scheme.canonicalName] : names
    }

    /// Returns the fields that determine a response's freshness.
    package func freshnessGrounds(of stored: StoredResponseHead) -> FreshnessGrounds {
        let fields = read(stored)
        let lifetime = freshnessLifetime(of: stored)
        var uncapped = self
        uncapped.maximumErrorLifetime = .max
        let names: [String] =
            switch lifetime.source {
            case .sMaxage, .maxAge: [directivesField(of: stored.fields)]
            case .expires: ["expires", "date"]
            case .heuristic: ["last-modified", "date"]
            case .explicitExpiry, .rule, .ruleDefault, .none: []
            }
        return FreshnessGrounds(
            date: fields.date,
            age: fields.age?.milliseconds,
            lifetimeFields: HTTPFields(stored.fields.filter { names.contains($0.name.canonicalName) }),
            isCapped: uncapped.freshnessLifetime(of: stored) != lifetime
        )
    }

    /// Returns the name of the field with the directives: the targeted field that applies, or
    /// `cache-control`. RFC 9213 §2.2
    private func directivesField(of fields: HTTPFields) -> String {
        targetedFields.first { ResponseDirectives(targeted: [$0], in: fields) != nil } ?? "cache-control"
    }

    /// Returns the staleness, in milliseconds, up to which a rule allows a response to be served in
    /// place of an origin's error, or `nil` if no rule sets it. RFC 5861 §4
    package func errorBudget(of stored: StoredResponseHead) -> Int64? {
        overrides(of: stored.fields)?.staleIfError.map { DeltaSeconds(seconds: $0).milliseconds }
    }

    /// Returns the instants at which the result of ``reuse(of:for:at:)`` may change, including past
    /// instants, in no particular order.
    ///
    /// The result does not change at each of them: call ``reuse(of:for:at:)`` to find out.
    package func turningPoints(of stored: StoredResponseHead, for request: HTTPRequest) -> [TurningPoint] {
        let fields = read(stored)
        let requested = RequestDirectives(request.headerFields)
        let end = freshUntil(stored)
        var points = [TurningPoint(ending: TurningPoint.freshness, instant: end)]
        func add(_ ending: String, _ seconds: DeltaSeconds?, after start: Timestamp = end) {
            guard let seconds else { return }
            // A limit is inclusive, so the first instant after the limit is one millisecond later.
            points.append(TurningPoint(ending: ending, instant: start.adding(milliseconds: seconds.milliseconds + 1)))
        }
        let overrides = fields.overrides
        add(
            overrides?.staleWhileRevalidate == nil ? "stale-while-revalidate" : "stale.while-revalidate",
            fields.directives.staleWhileRevalidate
        )
        add(
            overrides?.staleIfError == nil ? "stale-if-error" : "stale.on-error",
            fields.directives.staleIfError
        )
        add("stale-if-error", requested.staleIfError)
        add("stale.unreachable", fields.overrides?.maximumStalenessUnreachable.map(DeltaSeconds.init(seconds:)))
        add("stale.offline", fields.overrides?.maximumStalenessOffline.map(DeltaSeconds.init(seconds:)))
        if extendedStaleness > 0 { add("staleness", DeltaSeconds(seconds: extendedStaleness)) }
        if case .upTo(let limit) = requested.maxStale { add("max-stale", limit) }
        if let minFresh = requested.minFresh {
            points.append(
                TurningPoint(ending: "min-fresh", instant: end.adding(milliseconds: 1 - minFresh.milliseconds))
            )
        }
        let initialAge = currentAge(of: stored, at: stored.responseTime).correctedInitialAge
        add("max-age", requested.maxAge, after: stored.responseTime.adding(milliseconds: -initialAge))
        return points
    }

    /// Returns the instant at which a share of the lifetime has passed, or `nil` if there is no
    /// such instant.
    package func turningPoint(of stored: StoredResponseHead, after share: Double) -> TurningPoint? {
        let freshness = freshness(of: stored, at: stored.responseTime)
        let elapsed = (Double(freshness.lifetime.milliseconds) * share).rounded(.up)
        guard let rest = Int64(exactly: elapsed - Double(freshness.age.milliseconds)) else { return nil }
        return TurningPoint(ending: "eager-refresh", instant: stored.responseTime.adding(milliseconds: rest))
    }
}
