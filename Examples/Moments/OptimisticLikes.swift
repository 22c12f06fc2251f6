public import Holdfast

/// Likes that show at once: the stored feed has them before the server does, and no longer where it
/// refuses.
///
/// A screen follows the stored feed, and needs to know nothing of likes:
///
/// ```swift
/// let likes = OptimisticLikes(client: client)
/// for try await feed in likes.feed(of: "harbour") { show(feed.value) }
/// ```
public struct OptimisticLikes: Sendable {
    private let client: CachingClient
    private let toggles: FeatureToggles

    /// Likes over REST or GraphQL, as the toggles say.
    public init(client: CachingClient, toggles: FeatureToggles = FeatureToggles()) {
        self.client = client
        self.toggles = toggles
    }

    /// The feed of a user, from now on: what is stored, what the network answers, and every change
    /// of what is stored.
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

    /// Likes a moment in a user's feed, or no longer.
    ///
    /// - Throws: `HoldfastError`: the server refused, or could not be asked. The feed shows the
    ///   like no longer, and the next feed is asked for anew: a request that broke off may have
    ///   been carried out.
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
            // Its success makes stored feeds out of date, and so the changed one.
            _ = try await client.fetch(mutation)
        } catch {
            try await update.rollBack()
            try await client.invalidate(feed)
            throw error
        }
    }
}
