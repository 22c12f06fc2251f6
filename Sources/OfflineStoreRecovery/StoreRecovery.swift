import OfflineStore

/// The result of recovering a damaged store: see `CacheManager.recover(from:to:)`.
package struct StoreRecovery: Sendable {
    /// An entry that could only be read in part.
    package struct Loss: Sendable, Hashable {
        /// The entry's number.
        package var entryID: Int64
        /// The entry's previous ``StoreEntry/shortID``.
        package var shortID: String
        /// The response's URI with its secrets replaced, if the key can be read.
        package var redactedURI: String?
        /// A sentence that describes the damage.
        package var detail: String
    }

    /// The result for one database.
    package struct Source: Sendable, Hashable {
        /// The file's name.
        package var name: String
        /// The number of entries copied from the database.
        package var entries: Int
    }

    /// The absolute path of the new store's folder.
    package var folder: String
    /// The databases that were read, in order: the current database first, and then the others,
    /// newest first.
    package var sources: [Source] = []
    /// The number of responses in the new store.
    package var responses = 0
    /// The number of objects in the new store.
    package var objects = 0
    /// The total length of their bodies, in bytes.
    package var bytes: Int64 = 0
    /// The entries that could be read in part but were not copied; at most 1,000.
    package var losses: [Loss] = []
    /// The number of all entries that could be read in part but were not copied.
    package var lossCount = 0
    /// The number of bodies whose entry could not be read. Each body represents a lost entry.
    package var lostBodies = 0
    /// The number of tags of copied entries whose names could not be read.
    package var lostTags = 0
    /// The number of unreadable pages that may have contained entries.
    ///
    /// An entry on such a page whose body was found is also counted in ``lostBodies``.
    package var unreadablePages = 0
    /// Whether the secret that separates requests by their credentials was found.
    ///
    /// Without it, responses to requests with credentials are in the store but can no longer be
    /// found. (Responses for named principals can be found.)
    package var hasCredentialSecret = false
    /// Whether it is known which entries were invalidated.
    ///
    /// If not, all entries are copied as invalidated: they are served if the origin is unreachable,
    /// and validated otherwise. Entries from databases that were set aside are always copied as
    /// invalidated.
    package var hasInvalidations = false

    /// Whether nothing was lost.
    package var isComplete: Bool {
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
