public import Holdfast

// One protocol per request: the repository is written on these, and stays the same when REST
// becomes GraphQL.

/// The moments of a user.
public protocol GetMomentsByUserID: Sendable {
    /// - Returns: the call, not yet started.
    func call(userID: String) -> Call<MomentsDetails>
}

/// Likes a moment, or takes the like back. Its success invalidates the stored feeds.
public protocol UpdateMomentLike: Sendable {
    /// - Returns: a call that returns the changed moment.
    func call(momentID: String, isLiked: Bool) -> Call<Moment>
}

/// The tag of all stored feeds, over REST and GraphQL and for every user. A like invalidates the
/// responses with this tag.
let momentsTag = "moments"
