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

    /// Creates a repository that uses the given requests.
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

    /// Creates a repository that uses REST or GraphQL, as the toggles say.
    public init(session: any MomentsSession, toggles: FeatureToggles = FeatureToggles()) {
        self.init(
            session: session,
            toggles: toggles,
            getMoments: toggles.usesGraphQL ? GraphQLGetMomentsByUserID() : RESTGetMomentsByUserID(),
            updateLike: toggles.usesGraphQL ? GraphQLUpdateMomentLike() : RESTUpdateMomentLike()
        )
    }

    /// Emits the stored feed immediately, and then the network's feed. Each emission has its
    /// source, its age, and whether it is stale.
    ///
    /// If the network fails after a stored feed was emitted, the stream ends without an error. It
    /// throws `HoldfastError` if no feed is stored, or for another failure, such as a response with
    /// status 404.
    public func feed(of userID: String) -> EmissionStream<MomentsDetails> {
        session.emissions(of: getMoments.call(userID: userID).with { $0.networkFailure = .endingQuietly })
    }

    /// Returns the stored feed while it is fresh, otherwise the network's feed. If the network is
    /// unreachable, returns the stored feed, marked as stale.
    ///
    /// - Throws: `HoldfastError`.
    public func currentFeed(of userID: String) async throws -> Emission<MomentsDetails> {
        try await session.current(getMoments.call(userID: userID))
    }

    /// Likes a moment, or removes the like. A success invalidates all stored feeds.
    ///
    /// - Throws: `HoldfastError`, for example if the network is unreachable; the stored feeds then
    ///   stay unchanged. ``FeatureIsOff`` if likes are switched off.
    @discardableResult
    public func setLiked(_ isLiked: Bool, momentID: String) async throws -> Moment {
        guard toggles.allowsLikes else { throw FeatureIsOff(feature: "likes") }
        return try await session.send(updateLike.call(momentID: momentID, isLiked: isLiked))
    }
}
