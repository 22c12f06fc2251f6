import HoldfastMigrations

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// What the first hundred octets of a file say, read without SQLite.
///
/// Opening a file through SQLite can change it (a journal rolled back, a write-ahead log begun), so whose it is gets known first.
enum DatabaseHeader: Equatable {
    /// One of ours, of this schema version.
    case ours(version: Int32)
    /// A SQLite database of another program.
    case foreign
    /// No SQLite database.
    case unreadable
    /// Nothing there.
    case missing

    init(path: String) throws {
        let octets: [UInt8]
        do {
            octets = try FileHandle(path: path, flags: O_RDONLY | O_NOFOLLOW).read(count: 100, at: 0)
        } catch let failure as SystemFailure where failure.isMissing {
            self = .missing
            return
        }
        guard octets.count == 100, octets.starts(with: Array("SQLite format 3\0".utf8)) else {
            self = .unreadable
            return
        }
        let applicationID = Self.integer(in: octets, at: 68)
        self = applicationID == Migrations.applicationID ? .ours(version: Self.integer(in: octets, at: 60)) : .foreign
    }

    private static func integer(in octets: [UInt8], at offset: Int) -> Int32 {
        octets[offset..<offset + 4].reduce(0) { $0 << 8 | Int32($1) }
    }
}
