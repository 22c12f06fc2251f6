import Synchronization

/// Values derived from something stored. They are kept beside it while it is in memory, so that
/// each is made once and not for every reader.
///
/// At most ``limit`` values are kept; a further one replaces the oldest.
public final class DerivedValues: Sendable {
    /// The most values that are kept.
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

    /// No values yet.
    public init() {}

    /// The kept value of a type.
    ///
    /// - Parameter maker: the object that made the value, if values of one type differ by their
    ///   maker (a decoder with its own settings).
    public func value<Value: Sendable>(_ type: Value.Type, madeBy maker: (any AnyObject & Sendable)? = nil) -> Value? {
        let identifier = ObjectIdentifier(type)
        return state.withLock { state in
            // The entry is found by its index, so that it is not copied.
            let index = state.entries.indices.first {
                state.entries[$0].type == identifier && state.entries[$0].maker === maker
            }
            return index.flatMap { state.entries[$0].value as? Value }
        }
    }

    /// Keeps a value.
    ///
    /// - Parameters:
    ///   - bytes: its approximate size in memory. It is charged to the budget of the store's
    ///     memory.
    ///   - maker: as in ``value(_:madeBy:)``. It lives as long as the value, so that no other
    ///     object gets its identity.
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
        // Released outside the lock: the end of a value may run foreign code.
        withExtendedLifetime(gone) {}
        if growth != 0 { tell?(growth) }
    }

    /// The approximate size in memory of the kept values.
    public var bytes: Int { state.withLock { $0.entries.reduce(0) { $0 + $1.bytes } } }

    /// Reports every later growth, in bytes, to `tell`.
    ///
    /// - Returns: the bytes that are kept already.
    package func countGrowth(_ tell: (@Sendable (Int) -> Void)?) -> Int {
        state.withLock { state in
            state.onGrowth = tell
            return state.entries.reduce(0) { $0 + $1.bytes }
        }
    }
}
