import HTTPCache
import HTTPCacheOperations

extension RefreshPace {
    /// Reads the member `refresh` of a purge.
    ///
    /// - Throws: ``ControlProblem``
    init(_ value: JSONValue) throws(ControlProblem) {
        var members = try JSONMembers(value, path: "refresh", example: #"{"perSecond": 20, "atMost": 5000}"#)
        guard let perSecond = try members.number("perSecond", Self.rates) else {
            throw ControlProblem(
                .invalidRequest,
                "'refresh.perSecond' is missing. Set a number from \(Self.rates.lowerBound) to \(Self.rates.upperBound).",
                field: "refresh.perSecond"
            )
        }
        let atMost = try members.number("atMost", Self.counts) ?? Self.standardCount
        try members.end(known: ["atMost", "perSecond"])
        self.init(perSecond: perSecond, atMost: atMost)
    }
}

extension ControlProblem {
    /// Creates the problem for a refused refresh. Nothing was purged.
    init(_ refusal: RefreshRefusal) {
        switch refusal {
        case .tooMany(let limit):
            self.init(
                .tooManyRefreshes,
                "\(limit) refreshes are running, which is the limit. Nothing was purged. Wait until one has finished "
                    + "('GET /v1/refreshes'), or purge without 'refresh'.",
                field: "refresh",
                limit: limit
            )
        case .mode(let mode):
            self.init(
                .modeForbidsRefresh,
                "The mode is '\(mode.rawValue)', which forbids fetching again. Nothing was purged. "
                    + "Purge without 'refresh', or switch the mode ('PUT /v1/mode').",
                field: "refresh",
                value: mode.rawValue
            )
        }
    }

    /// The problem for a refresh of a store that no gateway has open.
    static let refreshNeedsGateway = ControlProblem(
        .invalidRequest,
        "'refresh' needs a running gateway. Purge without it, or start the gateway.",
        field: "refresh"
    )
}
