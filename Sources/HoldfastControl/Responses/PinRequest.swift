package import HTTPCache
package import HTTPCacheOperations
import HTTPCacheSemantics

/// A request to pin or unpin stored responses.
package struct PinRequest: Sendable, Hashable, Encodable {
    /// The responses to pin or unpin, selected as in a purge.
    package var select: PurgeRequest.Selection
    /// Whether to pin the responses; `false` unpins them.
    package var pinned: Bool
    /// Whether to only count the responses, without changing them.
    package var dryRun: Bool
    /// A note for the log.
    package var reason: String?
    /// See ``resolved(by:)``. It is not part of the JSON.
    private var atOrigins: PurgeRequest?

    private enum CodingKeys: String, CodingKey { case select, pinned, dryRun, reason }

    /// Returns the change, which now also selects the origin's URLs, as
    /// ``PurgeRequest/resolved(by:)`` does.
    package func resolved(by places: any OriginURLFinding) -> PinRequest {
        var change = self
        change.atOrigins = PurgeRequest(select, reason: reason).resolved(by: places)
        return change
    }

    /// Creates a change. The values are checked when the change is performed.
    package init(_ select: PurgeRequest.Selection, pinned: Bool, dryRun: Bool = false, reason: String? = nil) {
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

    /// Returns the scopes of the selectors, without duplicates.
    ///
    /// - Throws: ``ControlProblem``, as for a purge.
    package func scopes() throws -> [InvalidationScope] {
        try (atOrigins ?? PurgeRequest(select, reason: reason)).scopes()
    }
}

/// The result of pinning or unpinning responses, or of a dry run.
package struct PinResult: Sendable, Hashable, Codable {
    /// The numbers of selected responses before the change. A response counts once, even if several
    /// selectors match it.
    package struct Matched: Sendable, Hashable, Codable {
        /// The number of responses.
        package var responses: Int
        /// The number of bytes that the responses use in the store.
        package var bytes: Int64
        /// The number of responses that were pinned.
        package var pinned: Int
        /// Whether the numbers are exact; `false` if they are estimates.
        package var exact: Bool

        init(_ count: ScopeCount) {
            responses = count.responses
            bytes = count.bytes
            pinned = count.pinned
            exact = count.isExact
        }
    }

    /// Whether the change pins the responses; `false` if it unpins them.
    package var pinned: Bool
    /// Whether this was a dry run.
    package var dryRun: Bool
    /// The selected responses.
    package var matched: Matched
    /// The number of responses that were not already in the requested state.
    package var changed: Int
    /// The space that all pinned responses now use.
    package var pins: PinUse
}

extension StoreOperations {
    /// Counts the selected responses, and pins or unpins them unless it is a dry run. When this
    /// function returns, the change is durable.
    ///
    /// - Throws: ``ControlProblem`` if a selector is invalid, or if pinned responses would use too
    ///   much space; the store's errors.
    package func perform(_ change: PinRequest) async throws -> PinResult {
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
