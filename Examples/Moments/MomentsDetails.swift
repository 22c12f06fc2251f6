#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A user and what they have shared, as the API answers, whichever way it is asked.
public struct MomentsDetails: Codable, Sendable, Equatable {
    /// Whose moments these are.
    public var userDetails: UserDetails
    /// Newest first.
    public var moments: [Moment]
}

/// A user.
public struct UserDetails: Codable, Sendable, Equatable {
    /// Such as `harbour`.
    public var id: String
    /// As it is shown.
    public var name: String
    /// A URL, or a path on the server.
    public var avatar: String
    /// A URL, or a path on the server.
    public var backgroundImage: String
}

/// One thing that a user shared.
public struct Moment: Codable, Sendable, Equatable {
    /// What it is.
    public enum Kind: String, Codable, Sendable {
        /// A link: it has a ``Moment/url``.
        case url = "URL"
        /// Pictures: they are in ``Moment/photos``.
        case photos = "PHOTOS"
    }

    /// As much of the user as a moment shows.
    public struct Author: Codable, Sendable, Equatable {
        /// As it is shown.
        public var name: String
        /// A URL, or a path on the server.
        public var avatar: String
    }

    /// Such as `harbour-7`.
    public var id: String
    /// Who shared it.
    public var userDetails: Author
    /// What it is.
    public var type: Kind
    /// Many have none.
    public var title: String?
    /// Where the link leads.
    public var url: String?
    /// URLs, or paths on the server.
    public var photos: [String]
    /// When it was shared.
    public var createdDate: Date
    /// `nil` where the server does not say.
    public var isLiked: Bool?
}
