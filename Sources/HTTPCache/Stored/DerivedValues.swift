import Synchronization

/// Values derived from stored data. They are kept together with the data while it is in memory, so
/// that each value is computed once instead of for every reader.
///
/// At most ``limit`` values are kept. The next value replaces the oldest.
public final class DerivedValues: Sendable {
    /// The maximum number of kept values.
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

    /// Creates an empty collection.
    public init() {}

    /// Returns the kept value of a type.
    ///
    /// - Parameter maker: the object that made the value, if values of the same type differ by
    ///   maker (for example, a decoder with its own settings).
    public func value<Value: Sendable>(_ type: Value.Type, madeBy maker: (any AnyObject & Sendable)? = nil) -> Value? {
        let identifier = ObjectIdentifier(type)
        return state.withLock { state in
            // Find the entry by its index, so that it is not copied.
            let index = state.entries.indices.first {
                state.entries[$0].type == identifier && state.entries[$0].maker === maker
            }
            return index.flatMap { state.entries[$0].value as? Value }
        }
    }

    /// Keeps a value. If ``limit`` values are kept already, it replaces the oldest.
    ///
    /// - Parameters:
    ///   - bytes: the approximate size of the value in memory. It counts against the store's memory
    ///     budget.
    ///   - maker: see ``value(_:madeBy:)``. The maker is retained as long as the value, so that no
    ///     other object can get the same identity.
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
        // Release the value outside the lock, because its deinitializer may run external code.
        withExtendedLifetime(gone) {}
        if growth != 0 { tell?(growth) }
    }

    /// The approximate size of the kept values in memory, in bytes.
    public var bytes: Int { state.withLock { $0.entries.reduce(0) { $0 + $1.bytes } } }

    /// Calls `tell` whenever the values grow from now on, with the number of added bytes.
    ///
    /// - Returns: the number of bytes that are already kept.
    package func countGrowth(_ tell: (@Sendable (Int) -> Void)?) -> Int {
        state.withLock { state in
            state.onGrowth = tell
            return state.entries.reduce(0) { $0 + $1.bytes }
        }
    }
}
