import Holdfast
import Hummingbird
import MomentsExample

/// The response to `GET /feed/{user}`: the moments, their source and their age.
struct FeedResponse: ResponseEncodable {
    /// The source of the feed: `store` or `network`.
    let source: String
    /// The number of seconds since the upstream sent or last confirmed the feed.
    let age: Int64
    /// Whether the feed is stale, for example because the upstream is unreachable.
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

/// The response to `GET /health`.
struct Health: ResponseEncodable {
    var status = "ok"
}

/// The response to `POST /moments/{id}/like`: the changed moment.
struct LikeResponse: ResponseEncodable {
    let moment: Moment
}
