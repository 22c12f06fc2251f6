import HTTPCacheSemantics
import Synchronization

/// One change to what a store holds.
public struct StoreChange: Sendable {
    /// What happened.
    public enum Kind: String, Sendable, Hashable {
        /// A response became visible, new or in place of another.
        case stored
        /// A 304 renewed a stored head.
        case freshened
        /// What is stored is not to be used without validation any more, or was removed.
        case invalidated
    }
    /// What happened.
    public var kind: Kind
    /// What it happened to.
    public var scope: InvalidationScope
    /// The tags of what was stored or freshened.
    public var tags: [String]

    /// A change.
    public init(_ kind: Kind, _ scope: InvalidationScope, tags: [String] = []) {
        self.kind = kind
        self.scope = scope
        self.tags = tags
    }

    /// Whether somebody who watches `interest` should look: never `false` for a change that
    /// concerns it.
    ///
    /// An invalidation by tag concerns every key: who has the tag is the store's knowledge.
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
        case (.tag(let tag), .tag(let changed)): tag.hasSameBytes(as: changed)
        case (.tag(let tag), .key): tags.containsBytes(of: tag)
        case (.key, .tag), (.target, .tag), (.prefix, .tag), (.tag, .target), (.tag, .prefix): true
        }
    }
}

/// Tags are compared by their bytes, as stores compare them.
extension StoreChange: Hashable {
    /// Whether both say the same.
    public static func == (left: Self, right: Self) -> Bool {
        left.kind == right.kind && left.scope == right.scope && left.tags.haveSameBytes(as: right.tags)
    }

    /// Adds what equal ones have in common.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(kind)
        hasher.combine(scope)
    }
}

/// Hands a store's changes to whoever watches. Costs one atomic read where nobody does.
public final class StoreChangeFeed: Sendable {
    private struct Watcher {
        var interest: InvalidationScope
        var continuation: AsyncStream<StoreChange>.Continuation
    }

    private struct State {
        var watchers: [Int: Watcher] = [:]
        var next = 0
        var isFinished = false
        var whenWatched: (@Sendable () -> Void)?
    }

    /// Changes that wait for a slow watcher; beyond them the oldest are dropped, so that it still
    /// sees the newest.
    public static let bufferLimit = 64

    private let state = Mutex(State())
    private let count = Atomic(0)

    /// A feed that nobody watches yet.
    public init() {}

    /// Has something called each time that the first of some watchers comes, before its stream is
    /// returned: a store that has to look for changes then begins to.
    package func whenWatched(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.whenWatched = body } }

    /// Whether anybody watches.
    package var isWatched: Bool { count.load(ordering: .acquiring) > 0 }

    /// The changes from now on that concern a key, a target, a prefix, a tag or everything.
    ///
    /// Ends when the store is closed (``finish()``), when the task that reads it is cancelled, or
    /// when the stream is let go.
    public func changes(of interest: InvalidationScope) -> AsyncStream<StoreChange> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: StoreChange.self,
            bufferingPolicy: .bufferingNewest(Self.bufferLimit)
        )
        let (id, begin) = state.withLock { state -> (Int?, (@Sendable () -> Void)?) in
            guard !state.isFinished else { return (nil, nil) }
            defer { state.next += 1 }
            state.watchers[state.next] = Watcher(interest: interest, continuation: continuation)
            count.store(state.watchers.count, ordering: .releasing)
            return (state.next, state.watchers.count == 1 ? state.whenWatched : nil)
        }
        guard let id else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in self?.remove(id) }
        begin?()
        return stream
    }

    private func remove(_ id: Int) {
        // Let go of outside the lock: a continuation's end runs code of others.
        let removed = state.withLock { state in
            defer { count.store(state.watchers.count, ordering: .releasing) }
            return state.watchers.removeValue(forKey: id)
        }
        withExtendedLifetime(removed) {}
    }

    /// Tells everybody whom it concerns. For stores, after the commit.
    public func publish(_ change: @autoclosure () -> StoreChange) {
        guard count.load(ordering: .acquiring) > 0 else { return }
        let change = change()
        let concerned = state.withLock { state in
            state.watchers.values.filter { change.concerns($0.interest) }.map(\.continuation)
        }
        for continuation in concerned { continuation.yield(change) }
    }

    /// Ends the streams of all who watch, after what they were told already, and those of others to
    /// come at once. For stores, when they are closed: nothing changes any more.
    public func finish() {
        let watching = state.withLock { state in
            state.isFinished = true
            defer { state.watchers = [:] }
            count.store(0, ordering: .releasing)
            return state.watchers.values.map(\.continuation)
        }
        for watcher in watching { watcher.finish() }
    }

    deinit { finish() }
}
