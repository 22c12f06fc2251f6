package import HTTPCacheSemantics
package import HTTPTypes

/// The responses that the nodes of a fleet share, by an engine that any of them may lose sight of.
///
/// It is never the truth: what is found is stored here like the response of an origin, and an
/// engine that is away, slow or empty makes an exchange ask its origin. No function throws.
package protocol FleetResponses: Sendable {
    /// Whether responses may be looked for: this node has read the purges of the others. As cheap
    /// as an atomic read.
    var isFollowing: Bool { get }

    /// Up to where this node has put the purges of the fleet log in force; `nil` while it does not
    /// follow the log.
    ///
    /// Taken before a request is sent, it is the fencing number of the offered response: other
    /// nodes take no response that a later purge is about.
    var position: LogPosition? { get }

    /// Whether it is worth looking for a key. A key whose responses are for no other node is
    /// remembered for a while.
    func mayHave(_ key: CacheKey) -> Bool

    /// Looks once, within the limits of the tier.
    func find(_ query: PeerQuery) async -> PeerLookupResult

    /// Offers a response that was stored here. It returns at once. If there is no room
    /// for the offer, it is dropped and counted.
    func offer(_ offer: FleetOffer)

    /// Gives back the right to ask the origin first. Nothing came that others could use.
    ///
    /// - Parameter isForOthers: `false` if the responses to the key are for no other node, so that
    ///   none waits for one again soon.
    func release(_ lease: FleetLease?, of key: CacheKey, isForOthers: Bool)

    /// Removes what was offered of a response that should not have been stored.
    ///
    /// - Parameter names: of the fields by which it is selected, in lower case and sorted.
    func withdraw(_ response: StoredResponse, selectedBy names: [String])
}

/// A question for a response of another node.
package struct PeerQuery: Sendable {
    /// In the partition that all principals share.
    package var key: CacheKey
    /// How long to wait for another node's request; `nil` for as long as the tier waits.
    package var patience: Duration?
    /// Returns the request's fields of some names, which are in lower case and sorted, in the form
    /// in which they select a response.
    package var selecting: @Sendable ([String]) -> HTTPFields
    /// Returns whether a response is of use here. One that is not counts as not found.
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
    /// As it is to be stored, on this node's clock.
    package var draft: ResponseDraft
    /// It throws if a part is gone, or is not what was offered.
    package var body: BodyStream

    package init(draft: ResponseDraft, body: BodyStream) {
        self.draft = draft
        self.body = body
    }
}

/// The right to ask an origin first. It collapses requests of several nodes, and no promise rests
/// on it.
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
    /// The names of the fields by which the response is selected, in lower case and sorted.
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
