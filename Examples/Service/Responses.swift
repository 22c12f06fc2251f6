import Holdfast
import Hummingbird
import MomentsExample

/// The response to `GET /feed/{user}`: the moments, their source and their age.
struct FeedResponse: ResponseEncodable {
    /// `store` or `network`.
    let source: String
    /// Seconds since the upstream sent or last confirmed this.
    let age: Int64
    /// The lifetime is over, and the upstream was unreachable or did not respond.
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
