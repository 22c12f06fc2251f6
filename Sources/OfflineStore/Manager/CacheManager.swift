public import HTTPCache
import HTTPCacheSemantics
public import Logging
import StoreFiles
import Synchronization

/// The offline store: raw responses and Codable objects, with expiry, in one folder.
///
/// One process writes a store; any number of others read it at the same time
/// (``openReadOnly(at:configuration:clock:logger:)``). Expired entries stay until they are removed
/// or their space is needed, because they may be the only data available when the network is
/// unreachable. ``object(_:forKey:coder:)`` returns only live values, and
/// ``storedObject(_:forKey:coder:)`` returns values of any age.
///
/// ```swift
/// let store = try await CacheManager.open(at: "/var/lib/moments/cache")
/// try await store.setObject(feed, forKey: "feed", expiry: .after(.seconds(60)))
/// let live: Feed? = try await store.object(forKey: "feed")
/// let any: StoredObject<Feed>? = try await store.storedObject(forKey: "feed")
/// try await store.close()
/// ```
///
/// **Where the data is**: everything stored is in one SQLite database in the folder.
///
/// - `0001.sqlite` is the database. SQLite keeps its write-ahead log (`-wal`) and that log's index
///   (`-shm`) next to it. A database that was found to be damaged keeps its file, and the store
///   continues with the next number.
/// - `CURRENT` names the database in use.
/// - `lock` is locked by the writing process, and holds its process ID and name.
/// - `sequence` holds the number of the last invalidation, so that the loss of an invalidation is
///   noticed.
///
/// **What storing writes**: a row in the table `entry`, with the key, the variant, the times, and
/// the head. A response's head is its status and fields, and the request fields that `Vary` selects
/// by. An object's head is its media type and type name. The body goes to the table `chunk` in rows
/// of 64 KiB, each with a checksum; tags go to `tag` and `entry_tag`. All of this is one
/// transaction. A body of 4 MiB or more (less with a small budget) takes several transactions, and
/// readers see the entry after the last one. The content is not encrypted.
///
/// A commit is appended to the write-ahead log, which is copied into the database later. The commit
/// survives the end of the process, but a power failure may lose the last commits. Invalidations,
/// and removals other than ``removeExpired(includingOfflineUsable:)``, survive both once their call
/// returns.
///
/// Entries that are read often are also kept in memory. The memory is never older than the disk:
/// see ``Configuration/memoryBudget``.
///
/// Every call that fails throws ``StoreError``. In addition to the codes that a call lists, any
/// call may throw `damaged`: the database was found to be damaged and was set aside, and the next
/// call uses a new one. Any call that writes may throw `unwritable`. In a process that opened the
/// store only for reading, reading a body may throw `gone`: the writing process removed it in the
/// meantime.
public final class CacheManager: Sendable {
    /// The response store that the cache engine uses, on the same data.
    ///
    /// The response store does not read a clock: its calls take the time as an argument.
    public let responses: any ResponseStore

    let core: StoreCore
    let store: SQLiteResponseStore
    let clock: any WallClock
    let coder: any ObjectCoder
    /// Reads entries into memory after the store was opened; `nil` if nothing does.
    let refill = Mutex<MemoryRefill?>(nil)

    private init(core: StoreCore, clock: any WallClock, coder: any ObjectCoder) {
        self.core = core
        self.coder = coder
        self.clock = clock
        store = SQLiteResponseStore(core: core)
        responses = store
    }

    /// Opens a store for writing, and creates it if the folder is new or empty.
    ///
    /// A store with an older schema is migrated. Programs that only know the older schema then
    /// reject it with `newerSchema`. Work that a crash interrupted is finished or removed, some of
    /// it after this returns.
    ///
    /// **Read-only file systems and full disks**: an existing store is opened only for reading
    /// (``isReadOnly``), so that its responses can be served. Nothing is written. Invalidations
    /// hold only while this process has the store open. If invalidations may have been lost, every
    /// entry is treated as invalidated.
    ///
    /// - Parameters:
    ///   - folder: the store's folder; a relative path is relative to the process's working
    ///     directory. It is created with mode 0700, and its files with 0600. An existing folder
    ///     that others may access is restricted to its owner.
    ///   - configuration: budget and limits.
    ///   - clock: read once at the beginning of each call.
    ///   - logger: receives warnings about damage, about a file system that is known to break
    ///     locks, and about a reader in another process that keeps the write-ahead log from
    ///     shrinking. Normal use logs nothing above `debug`.
    /// - Throws: ``StoreError``: `inUse` (with the process that has the store open), `notAStore`,
    ///   `foreignDatabase`, `newerSchema`, `unwritable`, `invalidConfiguration`, `full`, `io`. None
    ///   of these errors changes stored data. A damaged database is not an error: it keeps its file
    ///   name, the store starts a new one, and ``statistics()`` lists it.
    @concurrent
    public static func open(
        at folder: String,
        configuration: Configuration = .init(),
        clock: any WallClock = SystemWallClock(),
        logger: Logger = Logger(label: "holdfast.store")
    ) async throws -> CacheManager {
        let now = clock.now()
        let core = try StoreOpening.open(at: folder, configuration: configuration, now: now, logger: logger)
        let manager = CacheManager(core: core, clock: clock, coder: configuration.coder)
        if configuration.refillsMemory { manager.refillMemory() }
        return manager
    }

    /// Opens a store only for reading, even while another process writes to it. New entries are
    /// visible once they are committed.
    ///
    /// This takes no lock, makes no checkpoint, and leaves the database and its write-ahead log
    /// unchanged. SQLite needs the write-ahead log's index (`-shm`), or the right to create it.
    /// Without either, the store can be read only if its write-ahead log is empty, or if the file
    /// system is mounted read-only.
    ///
    /// Only the configuration's reader count, coder, change interval and telemetry have an effect.
    /// Nothing is kept in memory.
    ///
    /// - Throws: ``StoreError``: `notAStore` (also if there is no store yet), `foreignDatabase`,
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

    /// 32 random bytes, created with the store and kept in it: the key of the HMAC that partitions
    /// by credentials.
    ///
    /// Empty after the store is closed.
    package var credentialSecret: [UInt8] {
        (try? core.database().state.secrets.credential) ?? []
    }

    /// Closes the store.
    ///
    /// This finishes pending work, writes the order in which entries were used, copies the
    /// write-ahead log into the database, and releases the folder. Later calls except `close` throw
    /// ``StoreError`` with `closed`, and so do bodies that are still being read.
    ///
    /// - Throws: ``StoreError``: `full`, `io`. Committed data is still on disk, and the folder is
    ///   released.
    @concurrent
    public func close() async throws {
        await refill.withLock { $0 }?.end()
        try core.close()
    }

    /// Reads the clock, once per call, and records the instant as the latest known.
    func now() -> Timestamp {
        let now = clock.now()
        (try? core.database())?.state.observe(now)
        return now
    }
}
