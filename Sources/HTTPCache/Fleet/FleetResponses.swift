package import HTTPCacheSemantics
package import HTTPTypes

/// The responses that the nodes of a fleet share through a server. Any node may lose contact with
/// the server.
///
/// The server is never authoritative. A response found there is stored here like an origin's
/// response. If the server is unreachable, slow or empty, an exchange sends its request to the
/// origin. No function throws.
package protocol FleetResponses: Sendable {
    /// Whether responses may be looked up, because this node has read the other nodes' purges. As
    /// cheap as an atomic read.
    var isFollowing: Bool { get }

    /// The position up to which this node has applied the fleet log's purges; `nil` while it does
    /// not follow the log.
    ///
    /// The value before a request is sent is the fencing number of the offered response: other
    /// nodes reject the response if a later purge affects it.
    var position: LogPosition? { get }

    /// Returns whether looking up a key is worthwhile. A key whose responses are not for other
    /// nodes is remembered for some time.
    func mayHave(_ key: StoreKey) -> Bool

    /// Looks up once, within the tier's limits.
    func find(_ query: PeerQuery) async -> PeerLookupResult

    /// Offers a response that was stored here. Returns immediately. If there is no room for the
    /// offer, it is dropped and counted.
    func offer(_ offer: FleetOffer)

    /// Gives up the right to fetch a key's response first, because the origin sent no response that
    /// other nodes can use.
    ///
    /// - Parameter isForOthers: `false` if the key's responses are not for other nodes, so that no
    ///   node waits for a lease on this key again soon.
    func release(_ lease: FleetLease?, of key: StoreKey, isForOthers: Bool)

    /// Removes the offered data of a response that should not have been stored.
    ///
    /// - Parameter names: the names of its selecting fields, in lowercase and sorted.
    func withdraw(_ response: StoredResponse, selectedBy names: [String])
}

/// A query for another node's response.
package struct PeerQuery: Sendable {
    /// The key in the partition that all principals share.
    package var key: StoreKey
    /// The maximum time to wait for another node's request; `nil` for the tier's limit.
    package var patience: Duration?
    /// Returns the request's fields with some names (in lowercase and sorted), in the form in which
    /// they select a response.
    package var selecting: @Sendable ([String]) -> HTTPFields
    /// Returns whether a response is useful here. A response that is not useful counts as not
    /// found.
    package var accepts: @Sendable (ResponseDraft) -> Bool

    package init(
        key: StoreKey,
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
    /// Nothing was found. If there is a lease, other nodes wait for this node's fetch from the
    /// origin.
    case nothing(FleetLease?)
}

/// A response of another node.
package struct PeerResponse: Sendable {
    /// The response to store, in terms of this node's clock.
    package var draft: ResponseDraft
    /// The body. Throws if a part is missing or differs from the offer.
    package var body: BodyStream

    package init(draft: ResponseDraft, body: BodyStream) {
        self.draft = draft
        self.body = body
    }
}

/// The right of one node to fetch a response first. It collapses the requests of several nodes. No
/// guarantee depends on it.
package struct FleetLease: Sendable, Hashable {
    package var key: StoreKey
    /// The tier's own name for the lease.
    package var number: UInt64

    package init(key: StoreKey, number: UInt64) {
        self.key = key
        self.number = number
    }
}

/// A stored response that is offered to other nodes.
package struct FleetOffer: Sendable {
    package var response: StoredResponse
    package var draft: ResponseDraft
    /// The names of the response's selecting fields, in lowercase and sorted.
    package var selectingNames: [String]
    /// The value of ``FleetResponses/position`` before the request was sent to the origin.
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
