public import Holdfast

// One protocol per request. The repository uses only these protocols, so it does not change when
// GraphQL replaces REST.

/// Gets the moments of a user.
public protocol GetMomentsByUserID: Sendable {
    /// Returns the call, which has not been started.
    func call(userID: String) -> Call<MomentsDetails>
}

/// Likes a moment, or removes the like. A success invalidates the stored feeds.
public protocol UpdateMomentLike: Sendable {
    /// Returns the call, whose value is the changed moment.
    func call(momentID: String, isLiked: Bool) -> Call<Moment>
}

/// The tag of all stored feeds, of every user, over REST and GraphQL. A like invalidates the
/// responses with this tag.
let momentsTag = "moments"
