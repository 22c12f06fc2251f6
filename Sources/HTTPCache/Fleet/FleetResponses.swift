package import HTTPCacheSemantics
package import HTTPTypes

/// The responses that the nodes of a fleet share, through a server that any of them may lose
/// contact with.
///
/// It is never authoritative: a response found there is stored here like an origin's, and if the
/// server is unreachable, slow or empty, an exchange asks its origin. No function throws.
package protocol FleetResponses: Sendable {
    /// Whether responses may be looked up, because this node has read the others' purges. As cheap
    /// as an atomic read.
    var isFollowing: Bool { get }

    /// The position up to which this node has applied the fleet log's purges; `nil` while it does
    /// not follow the log.
    ///
    /// Read before a request is sent, it is the fencing number of the offered response: other nodes
    /// accept no response that a later purge affects.
    var position: LogPosition? { get }

    /// Whether a lookup of a key is worthwhile. A key whose responses are not for other nodes is
    /// remembered for a while.
    func mayHave(_ key: CacheKey) -> Bool

    /// Looks up once, within the tier's limits.
    func find(_ query: PeerQuery) async -> PeerLookupResult

    /// Offers a response that was stored here. Returns immediately. If there is no room for the
    /// offer, it is dropped and counted.
    func offer(_ offer: FleetOffer)

    /// Returns the right to ask the origin first, because there was no response that others could
    /// use.
    ///
    /// - Parameter isForOthers: `false` if the key's responses are not for other nodes, so that no
    ///   node waits for one again soon.
    func release(_ lease: FleetLease?, of key: CacheKey, isForOthers: Bool)

    /// Removes the offered data of a response that should not have been stored.
    ///
    /// - Parameter names: the names of its selecting fields, in lowercase and sorted.
    func withdraw(_ response: StoredResponse, selectedBy names: [String])
}

/// A query for another node's response.
package struct PeerQuery: Sendable {
    /// The key in the partition that all principals share.
    package var key: CacheKey
    /// How long to wait for another node's request; `nil` for the tier's limit.
    package var patience: Duration?
    /// Returns the request's fields with some names (in lowercase and sorted), in the form in which
    /// they select a response.
    package var selecting: @Sendable ([String]) -> HTTPFields
    /// Returns whether a response is useful here. One that is not counts as not found.
    package var accepts: @Sendable (ResponseDraft) -> Bool

    package init(
        key: CacheKey,
        patience: Duration? = nil,
        selecting: @escaping @Sendable ([String]) -> HTTPFields,
        accepts: @escaping @Sendable (ResponseDraft) -> Bool
    ) {
        self.key = key
        self.patience = patience
        self.selecting = selecting
        self.accepts = accepts
    }
}

/// The result of a peer lookup.
package enum PeerLookupResult: Sendable {
    case found(PeerResponse)
    /// Nothing was found. With a lease, other nodes wait for this one to ask the origin.
    case nothing(FleetLease?)
}

/// A response of another node.
package struct PeerResponse: Sendable {
    /// The response to store, in terms of this node's clock.
    package var draft: ResponseDraft
    /// Throws if a part is missing, or differs from the offer.
    package var body: BodyStream

    package init(draft: ResponseDraft, body: BodyStream) {
        self.draft = draft
        self.body = body
    }
}

/// The right to ask an origin first. It collapses requests of several nodes; nothing depends on it
/// for correctness.
package struct FleetLease: Sendable, Hashable {
    package var key: CacheKey
    /// The tier's own name for it.
    package var number: UInt64

    package init(key: CacheKey, number: UInt64) {
        self.key = key
        self.number = number
    }
}

/// A stored response for other nodes.
package struct FleetOffer: Sendable {
    package var response: StoredResponse
    package var draft: ResponseDraft
    /// The names of the response's selecting fields, in lowercase and sorted.
    package var selectingNames: [String]
    /// ``FleetResponses/position`` before the origin was asked.
    package var fencingPosition: LogPosition
    package var lease: FleetLease?

    package init(
        response: StoredResponse,
        draft: ResponseDraft,
        selectingNames: [String] = [],
        fencingPosition: LogPosition,
        lease: FleetLease? = nil
    ) {
        self.response = response
        self.draft = draft
        self.selectingNames = selectingNames
        self.fencingPosition = fencingPosition
        self.lease = lease
    }
}
