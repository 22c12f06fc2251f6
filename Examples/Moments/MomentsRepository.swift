public import Holdfast

/// The moments of users, wherever they come from.
///
/// ```swift
/// let client = try await CachingClient.open(
///     store: "moments.store",
///     configuration: .init(environment: ServerEnvironment("production", baseURL: "https://api.example.com"))
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

    /// A repository over requests of one's own.
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

    /// A repository over REST or GraphQL, as the toggles say.
    public init(session: any MomentsSession, toggles: FeatureToggles = FeatureToggles()) {
        self.init(
            session: session,
            toggles: toggles,
            getMoments: toggles.usesGraphQL ? GraphQLGetMomentsByUserID() : RESTGetMomentsByUserID(),
            updateLike: toggles.usesGraphQL ? GraphQLUpdateMomentLike() : RESTUpdateMomentLike()
        )
    }

    /// The stored feed at once, then the network's. Each says where it comes from, how old it is,
    /// and whether it is stale.
    ///
    /// Where the network fails after a stored feed the stream just ends: what was stored stands. It
    /// throws `HoldfastError` only where there was nothing to show.
    public func feed(of userID: String) -> EmissionStream<MomentsDetails> {
        session.emissions(of: getMoments.call(userID: userID).with { $0.networkFailure = .endingQuietly })
    }

    /// One feed: the stored one while it is fresh, else the network's; the stored one, marked,
    /// where the network is away.
    ///
    /// - Throws: `HoldfastError`.
    public func currentFeed(of userID: String) async throws -> Emission<MomentsDetails> {
        try await session.current(getMoments.call(userID: userID))
    }

    /// Likes a moment, or no longer. After that no stored feed is taken for fresh.
    ///
    /// - Throws: `HoldfastError`, also where the network is away; what is stored is as it was then.
    ///   ``FeatureIsOff``.
    @discardableResult
    public func setLiked(_ isLiked: Bool, momentID: String) async throws -> Moment {
        guard toggles.allowsLikes else { throw FeatureIsOff(feature: "likes") }
        return try await session.send(updateLike.call(momentID: momentID, isLiked: isLiked))
    }
}
