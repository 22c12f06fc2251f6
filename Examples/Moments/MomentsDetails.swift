#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A user and the moments they shared. REST and GraphQL return the same model.
public struct MomentsDetails: Codable, Sendable, Equatable {
    /// The user who shared the moments.
    public var userDetails: UserDetails
    /// The user's moments, newest first.
    public var moments: [Moment]
}

/// A user.
public struct UserDetails: Codable, Sendable, Equatable {
    /// The user's identifier, such as `harbour`.
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
        /// A link, with its target in ``Moment/url``.
        case url = "URL"
        /// Pictures, with their URLs in ``Moment/photos``.
        case photos = "PHOTOS"
    }

    /// The part of the user that a moment shows.
    public struct Author: Codable, Sendable, Equatable {
        /// The name to display.
        public var name: String
        /// A URL, or a path on the server.
        public var avatar: String
    }

    /// The moment's identifier, such as `harbour-7`.
    public var id: String
    /// The user who shared the moment.
    public var userDetails: Author
    /// The kind of the moment.
    public var type: Kind
    /// The title; `nil` for many moments.
    public var title: String?
    /// The target of a link.
    public var url: String?
    /// The pictures: URLs, or paths on the server.
    public var photos: [String]
    /// The time at which the moment was shared.
    public var createdDate: Date
    /// Whether the user likes the moment; `nil` if the server does not say.
    public var isLiked: Bool?
}
