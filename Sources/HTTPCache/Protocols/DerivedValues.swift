import Synchronization

/// Values made of something stored, kept beside it for as long as it is in memory: each is made
/// once and not for every reader.
///
/// At most ``limit`` of them; a further one takes the place of the oldest.
public final class DerivedValues: Sendable {
    /// Values kept at most.
    public static let limit = 4

    private struct Entry {
        var type: ObjectIdentifier
        var maker: (any AnyObject & Sendable)?
        var bytes: Int
        var value: any Sendable
    }

    private struct State {
        var entries: [Entry] = []
        var onGrowth: (@Sendable (Int) -> Void)?
    }

    private let state = Mutex(State())

    /// Nothing yet.
    public init() {}

    /// The value of a type.
    ///
    /// - Parameter maker: who made it, where values of one type differ by their maker (a decoder
    ///   with settings of its own).
    public func value<Value: Sendable>(_ type: Value.Type, madeBy maker: (any AnyObject & Sendable)? = nil) -> Value? {
        let identifier = ObjectIdentifier(type)
        return state.withLock { state in
            // By its index: an entry that is looked at is not to be copied.
            let index = state.entries.indices.first {
                state.entries[$0].type == identifier && state.entries[$0].maker === maker
            }
            return index.flatMap { state.entries[$0].value as? Value }
        }
    }

    /// Keeps a value.
    ///
    /// - Parameters:
    ///   - bytes: about what it takes in memory; it counts against the budget of whoever keeps the
    ///     thing it was made of.
    ///   - maker: as in ``value(_:madeBy:)``. It lives as long as the value, so that nobody else is
    ///     ever taken for it.
    public func keep<Value: Sendable>(_ value: Value, bytes: Int, madeBy maker: (any AnyObject & Sendable)? = nil) {
        let entry = Entry(
            type: ObjectIdentifier(Value.self),
            maker: maker,
            bytes: bytes,
            value: value
        )
        let (growth, tell, gone) = state.withLock { state -> (Int, (@Sendable (Int) -> Void)?, Entry?) in
            var gone: Entry?
            if let index = state.entries.firstIndex(where: { $0.type == entry.type && $0.maker === entry.maker }) {
                gone = state.entries[index]
                state.entries[index] = entry
            } else {
                if state.entries.count == Self.limit { gone = state.entries.removeFirst() }
                state.entries.append(entry)
            }
            return (bytes - (gone?.bytes ?? 0), state.onGrowth, gone)
        }
        // Outside the lock: a value's end may run code of others.
        withExtendedLifetime(gone) {}
        if growth != 0 { tell?(growth) }
    }

    /// About what is kept now takes in memory.
    public var bytes: Int { state.withLock { $0.entries.reduce(0) { $0 + $1.bytes } } }

    /// Has every later growth told, by how many bytes, to whoever counts them.
    ///
    /// - Returns: what is kept already.
    package func countGrowth(_ tell: (@Sendable (Int) -> Void)?) -> Int {
        state.withLock { state in
            state.onGrowth = tell
            return state.entries.reduce(0) { $0 + $1.bytes }
        }
    }
}
