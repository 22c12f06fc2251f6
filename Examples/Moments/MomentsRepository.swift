public import Holdfast

/// The moments of users, over REST or GraphQL, from the store or the network.
///
/// ```swift
/// let client = try await CachingClient.open(
///     store: "moments.store",
///     configuration: .init(
///         environment: ServerEnvironment("production", baseURL: "https://api.example.com")
///     )
/// )
/// let repository = MomentsRepository(session: client)
/// for try await feed in repository.feed(of: "harbour") {
///     show(feed.value, isOld: feed.isStale)
/// }
/// ```
public struct MomentsRepository: Sendable {
    private let session: any MomentsSession
    private let toggles: FeatureToggles
    private let getMoments: any GetMomentsByUserID
    private let updateLike: any UpdateMomentLike

    /// A repository over the caller's own requests.
    public init(
        session: any MomentsSession,
        toggles: FeatureToggles = FeatureToggles(),
        getMoments: any GetMomentsByUserID,
        updateLike: any UpdateMomentLike
    ) {
        self.session = session
        self.toggles = toggles
        self.getMoments = getMoments
        self.updateLike = updateLike
    }

    /// A repository over REST or GraphQL, as the toggles choose.
    public init(session: any MomentsSession, toggles: FeatureToggles = FeatureToggles()) {
        self.init(
            session: session,
            toggles: toggles,
            getMoments: toggles.usesGraphQL ? GraphQLGetMomentsByUserID() : RESTGetMomentsByUserID(),
            updateLike: toggles.usesGraphQL ? GraphQLUpdateMomentLike() : RESTUpdateMomentLike()
        )
    }

    /// Emits the stored feed at once, and then the network's. Each has its source, its age, and
    /// whether it is stale.
    ///
    /// If the network fails after a stored feed, the stream ends quietly. It throws `HoldfastError`
    /// only if it emitted nothing.
    public func feed(of userID: String) -> EmissionStream<MomentsDetails> {
        session.emissions(of: getMoments.call(userID: userID).with { $0.networkFailure = .endingQuietly })
    }

    /// One feed: the stored one while it is fresh, otherwise the network's. If the network is
    /// unreachable, it returns the stored feed, marked as stale.
    ///
    /// - Throws: `HoldfastError`.
    public func currentFeed(of userID: String) async throws -> Emission<MomentsDetails> {
        try await session.current(getMoments.call(userID: userID))
    }

    /// Likes a moment, or takes the like back. Afterwards no stored feed is fresh.
    ///
    /// - Throws: `HoldfastError`, also if the network is unreachable; the stored feeds stay
    ///   unchanged then. ``FeatureIsOff``.
    @discardableResult
    public func setLiked(_ isLiked: Bool, momentID: String) async throws -> Moment {
        guard toggles.allowsLikes else { throw FeatureIsOff(feature: "likes") }
        return try await session.send(updateLike.call(momentID: momentID, isLiked: isLiked))
    }
}
