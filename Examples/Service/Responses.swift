import Holdfast
import Hummingbird
import MomentsExample

/// What `GET /feed/{user}` answers: the moments, and what to think of them.
struct FeedResponse: ResponseEncodable {
    /// `store` or `network`.
    let source: String
    /// Seconds since the upstream answered this, or last confirmed it.
    let age: Int64
    /// Past its time; the upstream could not be asked, or did not answer.
    let isStale: Bool
    let userDetails: UserDetails
    let moments: [Moment]

    init(_ feed: Emission<MomentsDetails>) {
        source = feed.source == .store ? "store" : "network"
        age = feed.age.components.seconds
        isStale = feed.isStale
        userDetails = feed.value.userDetails
        moments = feed.value.moments
    }
}

/// What `GET /health` answers.
struct Health: ResponseEncodable {
    var status = "ok"
}

/// What `POST /moments/{id}/like` answers: the moment as it is then.
struct LikeResponse: ResponseEncodable {
    let moment: Moment
}
