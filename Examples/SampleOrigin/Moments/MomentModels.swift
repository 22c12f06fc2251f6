/// A page of a user's feed: the response to `GET /moments` and `getMomentsDetailsByUserID`.
struct MomentsDetails: Encodable, Sendable {
    let userDetails: UserDetails
    let moments: [Moment]
    let page: Int
    let pageCount: Int
}

struct UserDetails: Encodable, Sendable {
    let id: String
    let name: String
    let avatar: String
    let backgroundImage: String
}

struct Moment: Encodable, Sendable {
    enum Kind: String, Encodable, Sendable {
        case url = "URL"
        case photos = "PHOTOS"
    }

    /// The part of the author that a moment shows.
    struct Author: Encodable, Sendable {
        let name: String
        let avatar: String
    }

    let id: String
    let userDetails: Author
    let type: Kind
    let title: String?
    let url: String?
    let photos: [String]
    /// The time of creation: ISO 8601, UTC.
    let createdDate: String
    var isLiked: Bool
    var likes: Int
}
