import HTTPCacheSemantics

/// A change to a store's content.
public struct StoreChange: Sendable {
    /// The kind of a change.
    public enum Kind: String, Sendable, Hashable {
        /// A response became visible. It is new or replaces another.
        case stored
        /// A 304 renewed a stored head.
        case freshened
        /// A stored response was removed, or must no longer be used without validation.
        case invalidated
    }
    /// The kind of change.
    public var kind: Kind
    /// The responses that changed.
    public var scope: InvalidationScope
    /// The tags of the response, if it was stored or freshened.
    public var tags: [String]
    /// Whether the stored content comes from the program instead of the origin, so that the origin
    /// should be asked.
    package var isUpdate = false

    /// Creates a change.
    public init(_ kind: Kind, _ scope: InvalidationScope, tags: [String] = []) {
        self.kind = kind
        self.scope = scope
        self.tags = tags
    }

    /// Returns whether the change may affect a watcher of `interest`. The result may be `true` for
    /// a change that has no effect, but is never `false` for a change that has one.
    ///
    /// An invalidation by tag concerns every key, because only the store knows which responses have
    /// the tag. An invalidation of a principal concerns every target, for the same reason.
    public func concerns(_ interest: InvalidationScope) -> Bool {
        switch (interest, scope) {
        case (.all, _), (_, .all): true
        case (.key(let key), .key(let changed)): key == changed
        case (.key(let key), .target(let target)), (.target(let target), .key(let key)): key.components.target == target
        case (.target(let target), .target(let changed)): target == changed
        case (.prefix(let prefix), .prefix(let changed)): prefix.overlaps(changed)
        case (.prefix(let prefix), .key(let key)), (.key(let key), .prefix(let prefix)): prefix.covers(key)
        case (.prefix(let prefix), .target(let target)), (.target(let target), .prefix(let prefix)):
            prefix.covers(target)
        case (.host(let host), .host(let changed)): host == changed
        case (.host(let host), .key(let key)), (.key(let key), .host(let host)): host.covers(key)
        case (.host(let host), .target(let target)), (.target(let target), .host(let host)): host.covers(target)
        case (.host(let host), .prefix(let prefix)), (.prefix(let prefix), .host(let host)): host.name == prefix.host
        case (.principal(let name), .principal(let changed)): name.hasSameBytes(as: changed)
        case (.principal(let name), .key(let key)), (.key(let key), .principal(let name)): KeyOwner(name).covers(key)
        case (.principal, .target), (.principal, .prefix), (.principal, .host), (.principal, .tag): true
        case (.target, .principal), (.prefix, .principal), (.host, .principal), (.tag, .principal): true
        case (.tag(let tag), .tag(let changed)): tag.hasSameBytes(as: changed)
        case (.tag(let tag), .key): tags.containsBytes(of: tag)
        case (.key, .tag), (.target, .tag), (.prefix, .tag), (.host, .tag): true
        case (.tag, .target), (.tag, .prefix), (.tag, .host): true
        }
    }
}

/// Tags are compared byte by byte, as in stores.
extension StoreChange: Hashable {
    /// Returns whether both are the same change.
    public static func == (left: Self, right: Self) -> Bool {
        left.kind == right.kind && left.scope == right.scope && left.isUpdate == right.isUpdate
            && left.tags.haveSameBytes(as: right.tags)
    }

    /// Hashes the same parts that equality compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(kind)
        hasher.combine(scope)
    }
}

/// Passes a store's changes on to watchers. Without watchers, publishing a change costs one atomic
/// read.
public final class StoreChangeFeed: Sendable {
    /// The maximum number of changes that wait for a slow watcher. If there are more, the oldest
    /// are dropped, so that the watcher still sees the newest.
    public static let bufferLimit = 64

    private let feed = ChangeFeed<StoreChange>()

    /// Creates a feed without watchers.
    public init() {}

    /// See ``ChangeFeed/whenWatched(_:)``.
    package func whenWatched(_ body: @escaping @Sendable () -> Void) { feed.whenWatched(body) }

    /// Whether there is a watcher.
    package var isWatched: Bool { feed.isWatched }

    /// Returns a stream of the changes from now on that affect a key, a target, a prefix, a tag or
    /// everything.
    ///
    /// The stream ends when the store is closed (``finish()``), when the task that reads the stream
    /// is canceled, or when the stream is released.
    public func changes(of interest: InvalidationScope) -> AsyncStream<StoreChange> {
        feed.changes(limit: Self.bufferLimit) { $0.concerns(interest) }
    }

    /// Passes a change to every watcher that it concerns. Stores call it after the commit.
    public func publish(_ change: @autoclosure () -> StoreChange) { feed.publish(change()) }

    /// Ends all streams after the changes that were already sent to them. Streams created later end
    /// immediately. Stores call this when they are closed, because nothing changes after that.
    public func finish() { feed.finish() }
}
