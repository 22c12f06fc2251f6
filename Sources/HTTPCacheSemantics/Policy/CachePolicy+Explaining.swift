package import HTTPTypes

/// An instant at which ``CachePolicy/reuse(of:for:at:)`` may begin to answer otherwise.
package struct TurningPoint: Sendable, Hashable {
    /// What ends, by the name of its directive; ``freshness`` for the lifetime itself.
    package var ending: String
    /// The first instant after it.
    package var instant: Timestamp

    /// The end of the freshness lifetime.
    package static let freshness = "freshness"

    package init(ending: String, instant: Timestamp) {
        self.ending = ending
        self.instant = instant
    }
}

/// Which of a response's fields the freshness arithmetic was made of, as they came. RFC 9111 §4.2
package struct FreshnessGrounds: Sendable, Hashable {
    /// `date_value`, where there is a valid `Date`.
    package var date: Timestamp?
    /// `age_value` in milliseconds, where there is a valid `Age`.
    package var age: Int64?
    /// What the lifetime comes from.
    package var lifetimeFields: HTTPFields
    /// They say more than is believed: ``CachePolicy/maximumErrorLifetime``.
    package var isCapped: Bool
}

/// For people: why the policy says what it says. Nothing is decided here.
extension CachePolicy {
    /// The request fields, in lower case, that keep a stored response from answering a request; `*`
    /// for `Vary: *`, and `vary` for one that is malformed. RFC 9111 §4.1
    ///
    /// Each name is asked about as ``matchesVariant(_:_:)`` would be if `Vary` named it alone.
    package func differingFields(of stored: StoredResponseHead, _ request: HTTPRequest) -> [String] {
        guard !matchesVariant(stored, request) else { return [] }
        let vary = FieldNameList(.vary, in: stored.fields)
        if vary.hasWildcard { return ["*"] }
        let differing = vary.names.filter { name in
            var alone = stored
            alone.fields[fields: .vary] = [HTTPField(name: .vary, value: name)]
            return !matchesVariant(alone, request)
        }
        return differing.isEmpty ? [HTTPField.Name.vary.canonicalName] : differing
    }

    /// The request fields, in lower case, that `Vary` names. RFC 9111 §4.1
    package func varyNames(of stored: StoredResponseHead) -> [String] {
        FieldNameList(.vary, in: stored.fields).names
    }

    /// See ``FreshnessGrounds``.
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

    /// The field that directives are read from: the targeted one that decides, or `cache-control`.
    /// RFC 9213 §2.2
    private func directivesField(of fields: HTTPFields) -> String {
        targetedFields.first { ResponseDirectives(targeted: [$0], in: fields) != nil } ?? "cache-control"
    }

    /// How stale a response may be that answers for an origin's error, in milliseconds, where a
    /// rule says so. RFC 5861 §4
    package func errorBudget(of stored: StoredResponseHead) -> Int64? {
        overrides(of: stored.fields)?.staleIfError.map { DeltaSeconds(seconds: $0).milliseconds }
    }

    /// The instants at which ``reuse(of:for:at:)`` may begin to answer otherwise, in no particular
    /// order; those that have passed among them.
    ///
    /// More than there are, perhaps: who wants to know whether something changes then asks
    /// ``reuse(of:for:at:)``.
    package func turningPoints(of stored: StoredResponseHead, for request: HTTPRequest) -> [TurningPoint] {
        let fields = read(stored)
        let wishes = RequestDirectives(request.headerFields)
        let end = freshUntil(stored)
        var points = [TurningPoint(ending: TurningPoint.freshness, instant: end)]
        func add(_ ending: String, _ seconds: DeltaSeconds?, after start: Timestamp = end) {
            guard let seconds else { return }
            // A limit is inclusive: the first instant after it is the next one.
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
        add("stale-if-error", wishes.staleIfError)
        add("stale.normal", fields.overrides?.maximumStaleness.map(DeltaSeconds.init(seconds:)))
        add("stale.offline", fields.overrides?.maximumStalenessOffline.map(DeltaSeconds.init(seconds:)))
        if case .upTo(let limit) = wishes.maxStale { add("max-stale", limit) }
        if let minFresh = wishes.minFresh {
            points.append(
                TurningPoint(ending: "min-fresh", instant: end.adding(milliseconds: 1 - minFresh.milliseconds))
            )
        }
        let initialAge = currentAge(of: stored, at: stored.responseTime).correctedInitialAge
        add("max-age", wishes.maxAge, after: stored.responseTime.adding(milliseconds: -initialAge))
        return points
    }

    /// The instant at which a share of the lifetime is over; `nil` where there is no such instant.
    package func turningPoint(of stored: StoredResponseHead, after share: Double) -> TurningPoint? {
        let freshness = freshness(of: stored, at: stored.responseTime)
        let elapsed = (Double(freshness.lifetime.milliseconds) * share).rounded(.up)
        guard let rest = Int64(exactly: elapsed - Double(freshness.age.milliseconds)) else { return nil }
        return TurningPoint(ending: "eager-refresh", instant: stored.responseTime.adding(milliseconds: rest))
    }
}
