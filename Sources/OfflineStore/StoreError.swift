/// What a store could not do, and why.
///
/// The message names the thing in single quotes, states the limit where there is one, gives the
/// next step, and holds no query values, credentials or stored content.
public struct StoreError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure.
    ///
    /// More may be added: a `switch` needs a `default`.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The code's name.
        public let description: String

        private init(_ description: String) { self.description = description }

        /// The store has been closed.
        public static let closed = Code("closed")
        /// The store was opened read-only and the call would change it.
        public static let readOnly = Code("readOnly")
        /// A setting is out of its range.
        public static let invalidConfiguration = Code("invalidConfiguration")
        /// The path is no store: a file, or a folder with other things in it.
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
        /// The folder or a file in it cannot be written, or not be read.
        public static let unwritable = Code("unwritable")
        /// The database is damaged, or a stored body is.
        ///
        /// A store that is open for writing leaves the database under its number and goes on with a
        /// new one. A damaged body is a miss from then on.
        public static let damaged = Code("damaged")
        /// The value cannot be encoded; what was stored before is still there.
        public static let notEncodable = Code("notEncodable")
        /// More bytes than one stored thing may have, or than a quota allows.
        public static let tooLarge = Code("tooLarge")
        /// The body ended before its announced length.
        public static let incomplete = Code("incomplete")
        /// Something that is under way has to end first.
        ///
        /// Other bodies that are being stored or read, removals by prefix, or another process's
        /// transaction: the message says which. It may work when tried again.
        public static let busy = Code("busy")
        /// The disk is full, or the store's budget is, with what is pinned, being read or being
        /// written.
        public static let full = Code("full")
        /// An operation on the disk failed.
        ///
        /// It may work when tried again.
        public static let io = Code("io")
        /// An object's key is empty or too long.
        public static let invalidKey = Code("invalidKey")
        /// A response has too many tags, or one that is too long.
        public static let invalidTag = Code("invalidTag")
        /// A body was read that the writing process has removed meanwhile.
        public static let gone = Code("gone")
    }

    /// What kind of failure it is.
    public var code: Code
    /// What failed, on what, and what to do.
    public var message: String
    /// The failure beneath, where there is one.
    public var cause: (any Error)?

    /// Makes an error.
    public init(code: Code, message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    /// The message.
    public var description: String { message }
}
