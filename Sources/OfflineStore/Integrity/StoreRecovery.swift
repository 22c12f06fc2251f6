/// What was copied out of a damaged store, and what was not: see
/// ``CacheManager/recover(from:to:)``.
public struct StoreRecovery: Sendable {
    /// An entry of which a part could be read and another could not.
    public struct Loss: Sendable, Hashable {
        /// The entry's number.
        public var entryID: Int64
        /// The ``StoreEntry/shortID`` that it had.
        public var shortID: String
        /// A response's URI with its secrets replaced, where the key can be read.
        public var redactedURI: String?
        /// What of it is damaged, in a sentence.
        public var detail: String
    }

    /// What came out of one database.
    public struct Source: Sendable, Hashable {
        /// The file's name.
        public var name: String
        /// Entries copied from it.
        public var entries: Int
    }

    /// The absolute path of the new store's folder.
    public var folder: String
    /// The databases that were read, in the order in which they were: the live one first, then the
    /// newest.
    public var sources: [Source] = []
    /// Responses in the new store.
    public var responses = 0
    /// Objects in the new store.
    public var objects = 0
    /// Bytes of their bodies.
    public var bytes: Int64 = 0
    /// Entries that are not in the new store although something of them could be read, at most
    /// 1,000 of them.
    public var losses: [Loss] = []
    /// How many there are in all.
    public var lossCount = 0
    /// Bodies whose entry could not be read: each was an entry.
    public var lostBodies = 0
    /// Tags of copied entries whose names could not be read.
    public var lostTags = 0
    /// Pages that may have held entries and cannot be read.
    ///
    /// Entries with a body that were on them are also counted in ``lostBodies``.
    public var unreadablePages = 0
    /// Whether the secret was found under which requests with credentials are told apart.
    ///
    /// Without it what was stored for them is there and is not found any more. (What was stored for
    /// named principals is.)
    public var hasCredentialSecret = false
    /// Whether it is known which entries were invalidated.
    ///
    /// If not, all are copied as invalidated: they answer when the origin cannot be reached, and
    /// are validated when it can. Entries from databases that were set aside always are.
    public var hasInvalidations = false

    /// Whether nothing was lost.
    public var isComplete: Bool {
        lossCount == 0 && lostBodies == 0 && lostTags == 0 && unreadablePages == 0 && hasCredentialSecret
    }

    init(folder: String) {
        self.folder = folder
    }

    mutating func lose(_ row: EntryRow, _ detail: String) {
        lossCount += 1
        guard losses.count < 1000 else { return }
        losses.append(
            Loss(
                entryID: row.id,
                shortID: StoreEntry.shortID(row.keyHash),
                redactedURI: row.redactedURI,
                detail: detail
            )
        )
    }
}
