import Testing

@testable import HTTPCacheSemantics

@Suite(.timeLimit(.minutes(20))) struct KeyOwnerTests {
    private static let digest = [UInt8](repeating: 7, count: 32)
    private static let names = [
        "ada", "ada2", "ad", "Ada", "", "e\u{301}", "\u{e9}", "\u{4}ada", String(repeating: "n", count: 300),
    ]

    private static func key(_ partition: StoreKey.Partition) throws -> StoreKey {
        StoreKey(partition: partition, target: try TargetURI("https://a.example/x?y"))
    }

    @Test func ownerIsThePrincipalThatTheCallerNamed() throws {
        for name in Self.names {
            for partition in [StoreKey.Partition.principal(name), .credentials(Self.digest, of: name), .job(name)] {
                let key = try Self.key(partition)
                #expect(KeyOwner(key) == KeyOwner(name))
                #expect(StoreKey(bytes: key.bytes)?.components.partition == partition)
            }
        }
        let unnamed: [StoreKey.Partition] = [
            .common, .credentials(Self.digest), .credentials(Self.digest, of: nil), .credentials([1, 2]),
            .credentials([]),
        ]
        for partition in unnamed { #expect(KeyOwner(try Self.key(partition)) == nil) }
    }

    /// A digest may begin with any bytes, those of a name too.
    @Test func digestThatLooksLikeANameHasNoOwner() throws {
        let digest = [4, 0x61, 0x64, 0x61] + [UInt8](repeating: 7, count: 28)
        #expect(KeyOwner(try Self.key(.credentials(digest))) == nil)
        #expect(KeyOwner(try Self.key(.credentials(digest, of: "bob"))) == KeyOwner("bob"))
        // Neither is a longer value whose rest is no digest.
        #expect(KeyOwner(try Self.key(.credentials(digest + [1]))) == nil)
    }

    @Test func namesAreComparedByTheirBytesInTheEncodingToo() throws {
        for owner in Self.names {
            for name in Self.names {
                for partition in [StoreKey.Partition.principal(name), .credentials(Self.digest, of: name)] {
                    let key = try Self.key(partition)
                    let isSame = Array(owner.utf8) == Array(name.utf8)
                    #expect(KeyOwner(owner).covers(key) == isSame)
                    #expect(Self.covers(KeyOwner(owner).canonicalBytes, key.bytes) == isSame)
                }
            }
            for partition in [StoreKey.Partition.common, .credentials(Self.digest)] {
                #expect(!KeyOwner(owner).covers(try Self.key(partition)))
            }
        }
    }

    @Test func bytesThatBreakOffCoverNothing() throws {
        let owner = KeyOwner("ada").canonicalBytes
        for partition in [StoreKey.Partition.principal("ada"), .credentials(Self.digest, of: "ada")] {
            let key = try Self.key(partition).bytes
            let nameEnd = partition == .principal("ada") ? 6 : 39
            for count in 0..<key.count {
                #expect(Self.covers(owner, Array(key.prefix(count))) == (count >= nameEnd), "\(count)")
            }
            for count in 0..<owner.count { #expect(!Self.covers(Array(owner.prefix(count)), key)) }
        }
    }

    private static func covers(_ owner: [UInt8], _ key: [UInt8]) -> Bool {
        owner.withUnsafeBytes { owner in
            key.withUnsafeBytes { TargetPrefix.covers(prefix: owner, key: $0) }
        }
    }
}
