/// One step of the store's schema: SQL that takes a database from the version before to this one.
///
/// The text of a released step is frozen. A test holds its checksum.
public struct Migration: Sendable, Hashable {
    /// The schema's version after this step; `PRAGMA user_version` holds it.
    ///
    /// The first one is 1.
    public let version: Int32
    /// The file's name without its ending, `V001__store`.
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
/// A new step is a new file `sql/V00n__name.sql` and one line here.
public enum Migrations {
    /// What `PRAGMA application_id` holds in every database of ours: `HFST` in ASCII.
    public static let applicationID: Int32 = 0x4846_5354

    /// Every step, ascending by version, without gaps.
    public static let all: [Migration] = [
        Migration(version: 1, name: "V001__store", bytes: PackageResources.V001__store_sql),
        Migration(version: 2, name: "V002__tags", bytes: PackageResources.V002__tags_sql),
        Migration(version: 3, name: "V003__sweeps", bytes: PackageResources.V003__sweeps_sql),
        Migration(version: 4, name: "V004__causes", bytes: PackageResources.V004__causes_sql),
    ]

    /// The version that the last step leads to.
    public static var latestVersion: Int32 { all.last?.version ?? 0 }
}
