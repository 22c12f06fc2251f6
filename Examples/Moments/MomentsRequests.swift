public import Holdfast

// A protocol per request: the repository is written on these, and does not change when REST becomes
// GraphQL beneath it.

/// The moments of a user.
public protocol GetMomentsByUserID: Sendable {
    /// - Returns: the request for them, not yet started.
    func call(userID: String) -> Call<MomentsDetails>
}

/// Likes a moment, or no longer. Its success makes stored feeds out of date.
public protocol UpdateMomentLike: Sendable {
    /// - Returns: the moment as it is then.
    func call(momentID: String, isLiked: Bool) -> Call<Moment>
}

/// What stored feeds are filed under, so that a like finds them, in whichever way and for whichever
/// user they were asked for.
let momentsTag = "moments"
