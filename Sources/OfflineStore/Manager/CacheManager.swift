public import HTTPCache
import HTTPCacheSemantics
public import Logging

/// The offline store: raw responses and Codable objects, with expiry, in a folder.
///
/// One process writes a store; any number of others read it at the same time
/// (``openReadOnly(at:configuration:clock:logger:)``). What expired stays until it is removed or
/// its room is needed, because it may be all there is when the network is away: reading tells live
/// values (``object(_:forKey:coder:)``) from values of any age (``storedObject(_:forKey:coder:)``).
///
/// ```swift
/// let store = try await CacheManager.open(at: "/var/lib/moments/cache")
/// try await store.setObject(feed, forKey: "feed", expiry: .after(.seconds(60)))
/// let live: Feed? = try await store.object(forKey: "feed")
/// let any: StoredObject<Feed>? = try await store.storedObject(forKey: "feed")
/// try await store.close()
/// ```
///
/// What is read often is in memory, too, and what is in memory is never older than what is on disk:
/// see ``Configuration/memoryBudget``.
///
/// Every call that fails throws ``StoreError``. Beside the codes that it names, any call may throw
/// `damaged` (the database was found to be damaged and was set aside: the next call has a new one),
/// any call that writes `unwritable`, and one that reads a body, in a process that opened the store
/// for reading alone, `gone` (the writing process removed it meanwhile).
public final class CacheManager: Sendable {
    /// The engine's door to the same store.
    ///
    /// It reads no clock: its instants come with the calls.
    public let responses: any ResponseStore

    let core: StoreCore
    let store: SQLiteResponseStore
    let clock: any WallClock
    let coder: any ObjectCoder

    private init(core: StoreCore, clock: any WallClock, coder: any ObjectCoder) {
        self.core = core
        self.coder = coder
        self.clock = clock
        store = SQLiteResponseStore(core: core)
        responses = store
    }

    /// Opens a store for writing, and makes it where the folder is new or empty.
    ///
    /// A store of an older schema is brought up to date; programs that know only that one then
    /// refuse it with `newerSchema`. What a crash left unfinished is finished or removed, some of
    /// it after this returned.
    ///
    /// **A file system that is mounted read-only**: a store that is there is opened for reading
    /// alone (``isReadOnly``), so that what it holds answers. Nothing is written; invalidations are
    /// in force for as long as this process has it open. Where invalidations may have been lost,
    /// everything counts as invalidated.
    ///
    /// - Parameters:
    ///   - folder: the store's folder; relative paths count from the process's own. It is made with
    ///     mode 0700, files in it with 0600. One that is there and open to others is restricted to
    ///     its owner.
    ///   - configuration: budget and limits.
    ///   - clock: read once at the top of each call.
    ///   - logger: gets warnings about damage, about a file system that is known to break locks,
    ///     and about another process's reader that keeps the log from shrinking; nothing above
    ///     `debug` in normal use.
    /// - Throws: ``StoreError``: `inUse` (naming the process that has it), `notAStore`,
    ///   `foreignDatabase`, `newerSchema`, `unwritable`, `invalidConfiguration`, `full`, `io`. None
    ///   of them has changed what is stored. A damaged database is no error: it is left under its
    ///   number, a new one is started, and ``statistics()`` tells.
    @concurrent
    public static func open(
        at folder: String,
        configuration: Configuration = .init(),
        clock: any WallClock = SystemWallClock(),
        logger: Logger = Logger(label: "holdfast.store")
    ) async throws -> CacheManager {
        let now = clock.now()
        let core = try StoreOpening.open(at: folder, configuration: configuration, now: now, logger: logger)
        return CacheManager(core: core, clock: clock, coder: configuration.coder)
    }

    /// Opens a store for reading alone, also while another process writes it: new entries are seen
    /// as they are committed.
    ///
    /// No lock is taken, nothing is checkpointed, and the database and its log stay as they are.
    /// SQLite needs the index of the log (`-shm`), or the right to make it; where there is neither,
    /// the store can be read if its log is empty, or if the file system is mounted read-only.
    ///
    /// Of the configuration, the number of readers and the coder count. Nothing is kept in memory.
    ///
    /// - Throws: ``StoreError``: `notAStore` (also when there is nothing yet), `foreignDatabase`,
    ///   `newerSchema`, `damaged` (opening it for writing sets the database aside), `unwritable`,
    ///   `invalidConfiguration`, `io`.
    @concurrent
    public static func openReadOnly(
        at folder: String,
        configuration: Configuration = .init(),
        clock: any WallClock = SystemWallClock(),
        logger: Logger = Logger(label: "holdfast.store")
    ) async throws -> CacheManager {
        let now = clock.now()
        let core = try StoreOpening.openForReading(at: folder, configuration: configuration, now: now, logger: logger)
        return CacheManager(core: core, clock: clock, coder: configuration.coder)
    }

    /// Whether calls that would change the store throw ``StoreError`` with `readOnly`.
    public var isReadOnly: Bool { core.isReadOnly }

    /// The absolute path of the store's folder.
    public var folder: String { core.folder.path }

    /// 32 random bytes, made with the store and kept in it: the key of the HMAC that partitions by
    /// credentials.
    ///
    /// Empty once the store is closed.
    package var credentialSecret: [UInt8] {
        (try? core.database().state.secrets.credential) ?? []
    }

    /// Finishes what was begun, writes the order in which entries were used, copies the log into
    /// the database and lets go of the folder.
    ///
    /// Later calls of anything but `close` throw ``StoreError`` with `closed`; so do bodies that
    /// are still being read.
    ///
    /// - Throws: ``StoreError``: `full`, `io`. What was committed is on disk all the same, and the
    ///   folder is let go.
    @concurrent
    public func close() async throws {
        try core.close()
    }

    /// The present instant, read once per call and noted as the latest known.
    func now() -> Timestamp {
        let now = clock.now()
        (try? core.database())?.state.observe(now)
        return now
    }
}
