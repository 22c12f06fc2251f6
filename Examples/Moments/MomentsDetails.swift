#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A user and the moments they shared. REST and GraphQL return the same model.
public struct MomentsDetails: Codable, Sendable, Equatable {
    /// The user who shared the moments.
    public var userDetails: UserDetails
    /// Newest first.
    public var moments: [Moment]
}

/// A user.
public struct UserDetails: Codable, Sendable, Equatable {
    /// Such as `harbour`.
    public var id: String
    /// The name to display.
    public var name: String
    /// A URL, or a path on the server.
    public var avatar: String
    /// A URL, or a path on the server.
    public var backgroundImage: String
}

/// One thing that a user shared.
public struct Moment: Codable, Sendable, Equatable {
    /// The kinds of moments.
    public enum Kind: String, Codable, Sendable {
        /// A link: it has a ``Moment/url``.
        case url = "URL"
        /// Pictures: they are in ``Moment/photos``.
        case photos = "PHOTOS"
    }

    /// The part of the user that a moment shows.
    public struct Author: Codable, Sendable, Equatable {
        /// The name to display.
        public var name: String
        /// A URL, or a path on the server.
        public var avatar: String
    }

    /// Such as `harbour-7`.
    public var id: String
    /// The user who shared it.
    public var userDetails: Author
    /// The kind of the moment.
    public var type: Kind
    /// Many moments have no title.
    public var title: String?
    /// The target of the link.
    public var url: String?
    /// URLs, or paths on the server.
    public var photos: [String]
    /// The time at which it was shared.
    public var createdDate: Date
    /// `nil` if the server does not send it.
    public var isLiked: Bool?
}
