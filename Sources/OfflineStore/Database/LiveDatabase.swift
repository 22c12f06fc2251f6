import Synchronization

/// The live database of a store. There is none before the store is opened and after it is closed.
struct LiveDatabase: ~Copyable, Sendable {
    enum State {
        case opening
        case open(StoreDatabase, currentInode: UInt64?)
        case closed
    }

    /// Held while another database replaces the live one, or while the store closes.
    let exchange = Mutex(())
    private let state = Mutex(State.opening)

    /// Returns the database, and the inode of the file `CURRENT` that named it. In the process that
    /// writes, the inode is `nil`.
    ///
    /// - Throws: ``StoreError`` with `closed`.
    func get() throws -> (database: StoreDatabase, currentInode: UInt64?) {
        try state.withLock { state in
            guard case .open(let database, let inode) = state else { throw StoreError.closed }
            return (database, inode)
        }
    }

    func set(_ database: StoreDatabase, currentInode: UInt64?) {
        state.withLock { $0 = .open(database, currentInode: currentInode) }
    }

    func isLive(_ database: StoreDatabase) -> Bool {
        state.withLock { state in
            if case .open(let live, _) = state { live === database } else { false }
        }
    }

    /// Ends the use of the database, which the caller must close; `nil` if there is none.
    func close() -> StoreDatabase? {
        state.withLock { state -> StoreDatabase? in
            defer { state = .closed }
            if case .open(let database, _) = state { return database }
            return nil
        }
    }
}
