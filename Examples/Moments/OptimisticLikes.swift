public import Holdfast

/// Likes that show immediately, because the stored feed is changed before the server is. If the
/// server rejects a like, the change is undone.
///
/// A screen follows the stored feed and needs no code for likes:
///
/// ```swift
/// let likes = OptimisticLikes(client: client)
/// for try await feed in likes.feed(of: "harbour") { show(feed.value) }
/// ```
public struct OptimisticLikes: Sendable {
    private let client: CachingClient
    private let toggles: FeatureToggles

    /// Creates likes that use REST or GraphQL, as the toggles say.
    public init(client: CachingClient, toggles: FeatureToggles = FeatureToggles()) {
        self.client = client
        self.toggles = toggles
    }

    /// Emits a user's stored feed, then the network's feed, and then every later change of the
    /// stored feed.
    public func feed(of userID: String) -> EmissionStream<MomentsDetails> {
        let call: Call<MomentsDetails> =
            toggles.usesGraphQL
            ? client.call(GraphQLGetMomentsByUserID.Request(userID: userID))
            : client.call(RESTGetMomentsByUserID.Request(userID: userID))
        return call.with {
            $0.followsStore = true
            $0.networkFailure = .endingQuietly
        }.request()
    }

    /// Likes a moment in a user's feed, or removes the like.
    ///
    /// - Throws: `HoldfastError` if the server rejects the change or is unreachable. The feed then
    ///   shows the earlier state, and the next read fetches it from the server, because the server
    ///   may have executed a request that broke off.
    public func setLiked(_ isLiked: Bool, momentID: String, inFeedOf userID: String) async throws {
        if toggles.usesGraphQL {
            try await setLiked(
                isLiked,
                momentID: momentID,
                in: GraphQLGetMomentsByUserID.Request(userID: userID),
                by: GraphQLUpdateMomentLike.Request(momentID: momentID, isLiked: isLiked)
            )
        } else {
            try await setLiked(
                isLiked,
                momentID: momentID,
                in: RESTGetMomentsByUserID.Request(userID: userID),
                by: RESTUpdateMomentLike.Request(momentID: momentID, isLiked: isLiked)
            )
        }
    }

    private func setLiked<Feed: Endpoint>(
        _ isLiked: Bool,
        momentID: String,
        in feed: Feed,
        by mutation: some Endpoint
    ) async throws where Feed.Response == MomentsDetails {
        let update = try await client.update(feed) { feed in
            for index in feed.moments.indices where feed.moments[index].id == momentID {
                feed.moments[index].isLiked = isLiked
            }
        }
        do {
            // A success invalidates the stored feeds, including the changed feed.
            _ = try await client.fetch(mutation)
        } catch {
            try await update.rollBack()
            try await client.invalidate(feed)
            throw error
        }
    }
}
