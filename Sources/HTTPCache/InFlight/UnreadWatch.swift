/// Ends a body without a reader when its time is up, or when a request waits for the body's permit:
/// see ``UnreadLimit``.
struct UnreadWatch: Sendable {
    /// A body that continues without a reader.
    struct Entry: Sendable {
        fileprivate var deadline: UInt64
        fileprivate var place: UInt64
    }

    let deadlines: Deadlines
    let origins: OriginRegistry
    let origin: Origin

    /// - Parameters:
    ///   - expire: called outside any lock when the time is up.
    ///   - end: called outside any lock when a request waits.
    /// - Returns: `nil` if a request is already waiting.
    func begin(
        _ time: Duration,
        expire: @escaping @Sendable () -> Void,
        end: @escaping @Sendable () -> Void
    ) -> Entry? {
        guard let place = origins.addUnread(origin, end) else { return nil }
        return Entry(deadline: deadlines.begin(time, expire), place: place)
    }

    /// Gives a body more time after its time is up.
    func extend(_ entry: Entry, _ time: Duration, expire: @escaping @Sendable () -> Void) -> Entry {
        var entry = entry
        entry.deadline = deadlines.begin(time, expire)
        return entry
    }

    /// Ends the watch, because the body has a reader again, or has ended.
    func end(_ entry: Entry) {
        _ = deadlines.end(entry.deadline)
        origins.removeUnread(entry.place, origin)
    }
}
