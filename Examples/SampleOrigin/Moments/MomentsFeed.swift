import Synchronization

/// The moments of a few fictitious users, which are always the same, and the likes since startup.
final class MomentsFeed: Sendable {
    static let pageSize = 10
    static let momentsPerUser = 25
    static let maximumLikes = 1_000_000

    /// The time of the feed's last change before the first like: 2026-01-01T00:00:00Z.
    static let firstModified: Int64 = 1_767_225_600

    private struct Changes {
        var likes: [String: Int] = [:]
        /// The number of changes per user. They replace the clock: each change makes the feed one
        /// second newer.
        var revisions: [String: Int64] = [:]
    }

    private let changes = Mutex(Changes())

    /// The users, in the order of their IDs.
    static let users: [UserDetails] = ["harbour", "lighthouse", "tides"].map { id in
        UserDetails(
            id: id,
            name: id.prefix(1).uppercased() + id.dropFirst(),
            avatar: "/images/\(id)-avatar.svg",
            backgroundImage: "/images/\(id)-background.svg"
        )
    }

    static func user(_ id: String) -> UserDetails? {
        users.first { $0.id == id }
    }

    /// Returns a page of a user's feed, newest first, and the time of its last change; `nil` for an
    /// unknown user.
    ///
    /// A page after the last page is empty.
    func page(_ page: Int, of userID: String) -> (details: MomentsDetails, modified: Int64)? {
        guard let user = Self.user(userID) else { return nil }
        let first = min((page - 1) * Self.pageSize, Self.momentsPerUser)
        let last = min(first + Self.pageSize, Self.momentsPerUser)
        return changes.withLock { changes in
            let moments = (first..<last).map { index in
                Self.moment(number: Self.momentsPerUser - index, of: user, likes: changes.likes)
            }
            let details = MomentsDetails(
                userDetails: user,
                moments: moments,
                page: page,
                pageCount: (Self.momentsPerUser + Self.pageSize - 1) / Self.pageSize
            )
            return (details, Self.firstModified + changes.revisions[userID, default: 0])
        }
    }

    /// Returns the moment with an ID such as `harbour-7`; `nil` if there is none.
    func moment(_ id: String) -> Moment? {
        guard let (user, number) = Self.parse(id) else { return nil }
        return changes.withLock { Self.moment(number: number, of: user, likes: $0.likes) }
    }

    /// Adds or removes likes, and returns the changed moment; `nil` for an unknown moment.
    func like(_ id: String, by amount: Int) -> Moment? {
        change(id) { min(max($0 + amount, 0), Self.maximumLikes) }
    }

    /// Sets whether a moment is liked, and returns the moment; `nil` for an unknown moment.
    /// Repeating the call has no effect.
    func setLiked(_ id: String, _ isLiked: Bool) -> Moment? {
        change(id) { isLiked ? max($0, 1) : 0 }
    }

    private func change(_ id: String, _ likes: (Int) -> Int) -> Moment? {
        guard let (user, number) = Self.parse(id) else { return nil }
        return changes.withLock { changes in
            let before = changes.likes[id, default: 0]
            let after = likes(before)
            if after != before {
                changes.likes[id] = after
                changes.revisions[user.id, default: 0] += 1
            }
            return Self.moment(number: number, of: user, likes: changes.likes)
        }
    }

    func reset() {
        changes.withLock { $0 = Changes() }
    }

    private static func parse(_ id: String) -> (user: UserDetails, number: Int)? {
        let parts = id.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let user = user(String(parts[0])), let number = Int(parts[1]),
            (1...momentsPerUser).contains(number), String(number) == parts[1]
        else { return nil }
        return (user, number)
    }

    private static func moment(number: Int, of user: UserDetails, likes: [String: Int]) -> Moment {
        let id = "\(user.id)-\(number)"
        let isLink = number % 3 == 0
        let given = likes[id, default: 0]
        let day = number < 10 ? "0\(number)" : "\(number)"
        return Moment(
            id: id,
            userDetails: Moment.Author(name: user.name, avatar: user.avatar),
            type: isLink ? .url : .photos,
            // As in real feeds, only some moments have a title, and an absent title is not an empty
            // one.
            title: number % 4 == 0 ? nil : "\(user.name), day \(number)",
            url: isLink ? "https://\(user.id).example/log/\(number)" : nil,
            photos: isLink ? [] : (1...(number % 3)).map { "/images/\(id)-\($0).svg" },
            createdDate: "2025-12-\(day)T08:00:00Z",
            isLiked: given > 0,
            // Moments start with different numbers of likes, so that a feed of zeros is not
            // mistaken for a correct feed.
            likes: number * 7 % 11 + given
        )
    }
}
