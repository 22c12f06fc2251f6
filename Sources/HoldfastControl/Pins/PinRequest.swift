public import HTTPCache

/// A change of pins: the selection of stored responses, and whether they are pinned from now on.
public struct PinRequest: Sendable, Hashable, Encodable {
    /// The selected responses, as a purge selects them.
    public var select: PurgeRequest.Selection
    /// Whether they are pinned. Otherwise they are unpinned.
    public var pinned: Bool
    /// Whether they are counted only.
    public var dryRun: Bool
    /// A text for the log.
    public var reason: String?

    /// A change. Its values are checked when it is performed.
    public init(_ select: PurgeRequest.Selection, pinned: Bool, dryRun: Bool = false, reason: String? = nil) {
        self.select = select
        self.pinned = pinned
        self.dryRun = dryRun
        self.reason = reason
    }

    /// Reads a change from JSON. Members that are not known are rejected.
    ///
    /// - Throws: ``ControlProblem``
    init(json: [UInt8]) throws {
        var members = try JSONMembers(json: json, example: #"{"select": {"tags": ["news"]}, "pinned": true}"#)
        guard let selection = members.take("select") else {
            throw ControlProblem(
                .invalidRequest,
                "'select' is missing. Set 'urls', 'prefixes', 'tags', 'hosts', or 'all': true in it.",
                field: "select"
            )
        }
        select = try PurgeRequest.Selection(selection)
        guard members.has("pinned") else {
            throw ControlProblem(
                .invalidRequest,
                "'pinned' is missing. Set it to true to pin the responses, or false to unpin them.",
                field: "pinned"
            )
        }
        pinned = try members.flag("pinned")
        dryRun = try members.flag("dryRun")
        reason = try members.text("reason")
        try members.end(known: ["dryRun", "pinned", "reason", "select"])
    }

    /// The scopes of the selectors, each once.
    ///
    /// - Throws: ``ControlProblem``, as for a purge.
    public func scopes() throws -> [InvalidationScope] { try PurgeRequest(select, reason: reason).scopes() }
}

/// The result of a change of pins, or of its dry run.
public struct PinResult: Sendable, Hashable, Codable {
    /// The selected responses, before the change. Each is counted once.
    public struct Matched: Sendable, Hashable, Codable {
        /// Their number.
        public var responses: Int
        /// The bytes they take in the store.
        public var bytes: Int64
        /// Those that were pinned.
        public var pinned: Int
        /// Whether these numbers were counted. Otherwise they are estimates.
        public var exact: Bool

        init(_ count: ScopeCount) {
            responses = count.responses
            bytes = count.bytes
            pinned = count.pinned
            exact = count.isExact
        }
    }

    /// Whether they are pinned now.
    public var pinned: Bool
    /// Whether nothing was changed.
    public var dryRun: Bool
    /// The selected responses.
    public var matched: Matched
    /// The responses that were not as asked before.
    public var changed: Int
    /// The space of all pins now.
    public var pins: PinUse
}

extension StoreOperations {
    /// Counts what a change of pins concerns, and performs it unless it is a dry run. It is durable
    /// when this returns.
    ///
    /// - Throws: ``ControlProblem`` if a selector is not valid, or if pins would take too much; the
    ///   store's errors.
    public func perform(_ change: PinRequest) async throws -> PinResult {
        let scopes = try change.scopes()
        let limit = change.dryRun ? Self.dryRunExamination : Self.purgeExamination
        let count = try await count(scopes, examining: limit)
        var changed = change.pinned ? count.responses - count.pinned : count.pinned
        if !change.dryRun {
            do {
                changed = try await setPinned(change.pinned, scopes)
            } catch let refusal as PinsExceedBudget {
                throw ControlProblem(
                    .pinsExceedBudget,
                    "\(refusal)",
                    field: "select",
                    value: "\(refusal.use.bytes + refusal.additional)",
                    limit: Int(refusal.use.limit)
                )
            }
        }
        return PinResult(
            pinned: change.pinned,
            dryRun: change.dryRun,
            matched: .init(count),
            changed: changed,
            pins: try await pinUse()
        )
    }
}
