public import HTTPCache

/// A change of pins: selects stored responses to pin or unpin.
public struct PinRequest: Sendable, Hashable, Encodable {
    /// The selected responses, selected as in a purge.
    public var select: PurgeRequest.Selection
    /// Whether to pin the responses; `false` unpins them.
    public var pinned: Bool
    /// Whether to only count the responses.
    public var dryRun: Bool
    /// A note for the log.
    public var reason: String?

    /// Creates a change. Its values are checked when it is performed.
    public init(_ select: PurgeRequest.Selection, pinned: Bool, dryRun: Bool = false, reason: String? = nil) {
        self.select = select
        self.pinned = pinned
        self.dryRun = dryRun
        self.reason = reason
    }

    /// Reads a change from JSON. Unknown members are rejected.
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

    /// The scopes of the selectors, without duplicates.
    ///
    /// - Throws: ``ControlProblem``, as for a purge.
    public func scopes() throws -> [InvalidationScope] { try PurgeRequest(select, reason: reason).scopes() }
}

/// The result of a change of pins, or of its dry run.
public struct PinResult: Sendable, Hashable, Codable {
    /// The selected responses before the change. Each counts once.
    public struct Matched: Sendable, Hashable, Codable {
        /// The number of responses.
        public var responses: Int
        /// The bytes they use in the store.
        public var bytes: Int64
        /// How many were pinned.
        public var pinned: Int
        /// Whether the numbers were counted; `false` if they are estimates.
        public var exact: Bool

        init(_ count: ScopeCount) {
            responses = count.responses
            bytes = count.bytes
            pinned = count.pinned
            exact = count.isExact
        }
    }

    /// Whether the responses are pinned now.
    public var pinned: Bool
    /// Whether this was a dry run.
    public var dryRun: Bool
    /// The selected responses.
    public var matched: Matched
    /// How many responses were not already in the requested state.
    public var changed: Int
    /// The space that all pins use now.
    public var pins: PinUse
}

extension StoreOperations {
    /// Counts the responses that a change of pins affects, and performs the change unless it is a
    /// dry run. The change is durable when this returns.
    ///
    /// - Throws: ``ControlProblem`` if a selector is invalid, or if pins would use too much space;
    ///   the store's errors.
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
