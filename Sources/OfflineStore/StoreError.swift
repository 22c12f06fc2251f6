/// A failure of the store.
///
/// The message names the affected thing in single quotes, states the limit if there is one, and
/// gives the next step. It contains no query values, credentials or stored content.
public struct StoreError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure.
    ///
    /// More codes may be added, so a `switch` needs a `default`.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The code's name.
        public let description: String

        private init(_ description: String) { self.description = description }

        /// The store has been closed.
        public static let closed = Code("closed")
        /// The store was opened only for reading, and the call would change it.
        public static let readOnly = Code("readOnly")
        /// A setting is out of range.
        public static let invalidConfiguration = Code("invalidConfiguration")
        /// The path is not a store: it is a file, or a folder with other content.
        ///
        /// Nothing was changed.
        public static let notAStore = Code("notAStore")
        /// The database belongs to another program.
        ///
        /// Nothing was changed.
        public static let foreignDatabase = Code("foreignDatabase")
        /// The store was written by a newer version.
        ///
        /// Nothing was changed.
        public static let newerSchema = Code("newerSchema")
        /// Another process, or this one, has the store open for writing.
        public static let inUse = Code("inUse")
        /// The folder or a file in it cannot be written or read.
        public static let unwritable = Code("unwritable")
        /// The database or a stored body is damaged.
        ///
        /// A store that is open for writing sets the database aside and continues with a new one.
        /// From then on, a damaged body is a miss.
        public static let damaged = Code("damaged")
        /// The value cannot be encoded. A value that was already stored is unchanged.
        public static let notEncodable = Code("notEncodable")
        /// The entry exceeds the limit for entries, or a quota.
        public static let tooLarge = Code("tooLarge")
        /// The body ended before its announced length.
        public static let incomplete = Code("incomplete")
        /// Another operation must finish first.
        ///
        /// This can be other bodies being stored or read, removals by prefix or principal, or
        /// another process's transaction; the message states which. A retry may succeed.
        public static let busy = Code("busy")
        /// The disk is full, or the store's budget is used up by pinned entries and by bodies being
        /// read or written.
        public static let full = Code("full")
        /// A disk operation failed.
        ///
        /// A retry may succeed.
        public static let io = Code("io")
        /// An object's key is empty or too long.
        public static let invalidKey = Code("invalidKey")
        /// A response has too many tags, or a tag that is too long.
        public static let invalidTag = Code("invalidTag")
        /// The writing process removed the body that was being read.
        public static let gone = Code("gone")
    }

    /// The kind of failure.
    public var code: Code
    /// The failed operation, its subject, and the next step.
    public var message: String
    /// The underlying failure, if there is one.
    public var cause: (any Error)?

    /// Whether the disk accepts no writes at the moment. The store then continues with its existing
    /// data.
    var isOfDisk: Bool { code == .full || code == .unwritable }

    /// Creates an error.
    public init(code: Code, message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    /// The message.
    public var description: String { message }

    static let closed = StoreError(code: .closed, message: "The store is closed. Open it again to continue.")
}
