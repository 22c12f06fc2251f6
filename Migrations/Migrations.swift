/// One step of the store's schema: SQL that migrates a database from the version before to this
/// one.
///
/// The text of a released step is frozen. A test checks its checksum.
public struct Migration: Sendable, Hashable {
    /// The schema's version after this step, stored in `PRAGMA user_version`.
    ///
    /// The first version is 1.
    public let version: Int32
    /// The name of the file without its ending, such as `V001__store`.
    public let name: String
    /// The statements.
    public let sql: String

    init(version: Int32, name: String, bytes: [UInt8]) {
        self.version = version
        self.name = name
        self.sql = String(decoding: bytes, as: UTF8.self)
    }
}

/// The store's schema, as frozen SQL steps in the order in which they are applied.
///
/// A new step is a new file `sql/V00n__name.sql` and one line here. The latest version has these
/// tables:
///
/// - `store`: one row with the store's secrets, its counters, and the low-water marks below which
///   entries are treated as invalidated or removed.
/// - `entry`: a row for each response or object, without its body.
/// - `chunk`: bodies, in rows of 64 KiB. A row's number is the body's number << 16 | the index.
/// - `garbage`: the numbers of bodies without an entry, which the sweep removes.
/// - `invalidation`: the last invalidations, against which in-flight fetches are checked.
/// - `tag` and `entry_tag`: the tags, and the entries that have them. `tag.octets` is the sum of
///   their sizes in bytes.
/// - `tag_invalidation`, `unsafe_tag_invalidation` and `prefix_invalidation`: invalidations that
///   the sweep has not applied to the rows yet.
/// - `shared_log`, `shared_epoch` and `shared_invalidation`: how far a log that several nodes share
///   was read, and the invalidations that it must have.
public enum Migrations {
    /// The value of `PRAGMA application_id` in every database of Holdfast: `HFST` in ASCII.
    public static let applicationID: Int32 = 0x4846_5354

    /// Every step, in ascending order of versions, without gaps.
    public static let all: [Migration] = [
        Migration(version: 1, name: "V001__store", bytes: PackageResources.V001__store_sql),
        Migration(version: 2, name: "V002__tags", bytes: PackageResources.V002__tags_sql),
        Migration(version: 3, name: "V003__sweeps", bytes: PackageResources.V003__sweeps_sql),
        Migration(version: 4, name: "V004__causes", bytes: PackageResources.V004__causes_sql),
        Migration(version: 5, name: "V005__shared", bytes: PackageResources.V005__shared_sql),
    ]

    /// The version after the last step.
    public static var latestVersion: Int32 { all.last?.version ?? 0 }
}
