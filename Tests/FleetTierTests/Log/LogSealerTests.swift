import HTTPCache
import HTTPCacheSemantics
import HoldfastTesting
import Testing

@testable import FleetTier

@Suite(.timeLimit(.minutes(20))) struct LogSealerTests {
    private static let secret = [UInt8](repeating: 7, count: 32)
    private static let other = [UInt8](repeating: 8, count: 40)

    private func sealer(
        _ secret: [UInt8] = secret,
        previous: [UInt8]? = nil,
        _ namespace: String = "shop"
    ) throws -> LogSealer {
        LogSealer(
            keys: try #require(FleetKeys(secret: secret, previous: previous)),
            namespace: try #require(FleetNamespace(namespace))
        )
    }

    private func record(
        _ scope: ScopeSelector = ScopeSelector(kind: .tag, bytes: Array("news".utf8)),
        _ effect: InvalidationEffect = .mark(.unspecified)
    ) throws
        -> PurgeRecord
    {
        var random = SeededRandom(seed: 3)
        return PurgeRecord(
            id: PurgeID(using: &random),
            node: try #require(NodeName("gw-1")),
            effect: effect,
            selector: scope,
            issuedAt: EngineTime(milliseconds: 1_767_225_600_123),
            issuedLocally: Timestamp(milliseconds: 1_767_225_599_999)
        )
    }

    private func sealed(_ record: PurgeRecord, _ sealer: LogSealer, seed: UInt64 = 1) throws -> [UInt8] {
        var random = SeededRandom(seed: seed)
        return try sealer.seal(record, using: &random)
    }

    private func fault(_ sealer: LogSealer, _ bytes: [UInt8]) -> LogSealer.Fault? {
        do throws(LogSealer.Fault) {
            _ = try sealer.open(bytes)
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: [
        ScopeSelector(kind: .all, bytes: []), ScopeSelector(kind: .target, bytes: Array("https://a.example/x".utf8)),
        ScopeSelector(kind: .key, bytes: [0, 255, 10]), ScopeSelector(kind: .tag, bytes: []),
        ScopeSelector(kind: .prefix, bytes: [47]), ScopeSelector(kind: .host, bytes: [97]),
        ScopeSelector(kind: .key, bytes: [UInt8](repeating: 9, count: ScopeSelector.longest)),
    ])
    func recordsOpenAsTheyWereSealed(_ scope: ScopeSelector) throws {
        let sealer = try sealer()
        for kind in [InvalidationEffect.mark(.unspecified), .mark(.unsafeMethod), .remove] {
            let record = try record(scope, kind)
            let bytes = try sealed(record, sealer)
            #expect(try sealer.open(bytes) == record)
            #expect(SealedPurge.id(of: bytes) == record.id && bytes.count <= LogEntry.longestSealed)
        }
    }

    @Test func longestRecordIsAsLongAsAllowed() throws {
        var record = try record(ScopeSelector(kind: .key, bytes: [UInt8](repeating: 9, count: ScopeSelector.longest)))
        record.node = try #require(NodeName(String(repeating: "n", count: 64)))
        #expect(try sealed(record, sealer()).count == LogEntry.longestSealed)
        record.selector = ScopeSelector(kind: .key, bytes: [UInt8](repeating: 9, count: ScopeSelector.longest + 1))
        #expect(throws: FleetLogError.limit("selector")) { try sealed(record, sealer()) }
    }

    @Test func changeOfAnyByteIsNoticed() throws {
        let sealer = try sealer()
        let bytes = try sealed(record(), sealer)
        for index in bytes.indices {
            for bit in [UInt8(1), 128] {
                var changed = bytes
                changed[index] ^= bit
                let expected: LogSealer.Fault = index == 0 ? .malformed : index == 1 ? .unknownKey : .forged
                #expect(fault(sealer, changed) == expected, "byte \(index)")
            }
        }
    }

    @Test func cutOrLengthenedRecordsDoNotOpen() throws {
        let sealer = try sealer()
        let bytes = try sealed(record(), sealer)
        for count in 0..<bytes.count { #expect(fault(sealer, Array(bytes.prefix(count))) != nil, "\(count)") }
        #expect(fault(sealer, bytes + [0]) == .forged)
        let long = bytes + [UInt8](repeating: 0, count: LogEntry.longestSealed)
        #expect(fault(sealer, long) == .malformed)
    }

    @Test func nothingOfARecordIsReadable() throws {
        let (name, path) = ("gateway-of-a-node", "https://a.example/a/path")
        var record = try record(ScopeSelector(kind: .target, bytes: Array(path.utf8)))
        record.node = try #require(NodeName(name))
        let text = String(decoding: try sealed(record, sealer()), as: UTF8.self)
        #expect(!text.contains(name) && !text.contains("a.example"))
        // The purge's random name is: the engine keeps places by it.
        #expect(try sealed(record, sealer())[2..<18] == record.id.bytes[...])
    }

    @Test func equalRecordsAreSealedDifferently() throws {
        let sealer = try sealer()
        let (one, another) = (try sealed(record(), sealer, seed: 1), try sealed(record(), sealer, seed: 2))
        #expect(one[18...] != another[18...])
        // The nonce has all of its bytes.
        #expect(zip(one[18..<30], another[18..<30]).allSatisfy { $0 != $1 })
    }

    @Test func otherFleetsDoNotOpenIt() throws {
        let bytes = try sealed(record(), sealer())
        #expect(fault(try sealer(Self.other), bytes) == .unknownKey)
        #expect(fault(try sealer(Self.secret, "shop-2"), bytes) == .forged)
        #expect(fault(try sealer(Self.secret, "sho"), bytes) == .forged)
    }

    @Test func previousSecretOpensAndDoesNotSeal() throws {
        let old = try sealer(Self.secret)
        let new = try sealer(Self.other, previous: Self.secret)
        let record = try record()
        #expect(try new.open(sealed(record, old)) == record)
        #expect(try sealed(record, new) == sealed(record, sealer(Self.other)))
        #expect(fault(old, try sealed(record, new)) == .unknownKey)
    }

    /// Two secrets of which one key id is the same by chance.
    /// So that no node seals what another one cannot open yet.
    @Test func nextSecretOpensAndDoesNotSeal() throws {
        let (old, new) = ([UInt8](repeating: 7, count: 32), [UInt8](repeating: 8, count: 32))
        let namespace = try #require(FleetNamespace("shop"))
        func sealer(_ secret: [UInt8], previous: [UInt8]? = nil, next: [UInt8]? = nil) throws -> LogSealer {
            LogSealer(
                keys: try #require(FleetKeys(secret: secret, previous: previous, next: next)),
                namespace: namespace
            )
        }
        let steps = try [sealer(old), sealer(old, next: new), sealer(new, previous: old), sealer(new)]
        var random = SeededRandom(seed: 1)
        for (number, step) in steps.enumerated() {
            let sealed = try step.seal(record(), using: &random)
            for (other, opener) in steps.enumerated() {
                // The old secret seals in the first two steps.
                let opens = number < 2 ? other <= 2 : other >= 1
                #expect(((try? opener.open(sealed)) != nil) == opens, "\(number), \(other)")
            }
        }
        #expect(FleetKeys(secret: old, next: [UInt8](repeating: 1, count: 31)) == nil)
    }

    @Test func previousSecretOpensWithTheSameKeyID() throws {
        let first = try #require(FleetKeys(secret: Self.secret)).present.id
        let twin = try #require(
            (0..<10_000).lazy.map { number in Self.secret + [UInt8(number >> 8), UInt8(number & 255)] }
                .first { FleetKeys(secret: $0)?.present.id == first }
        )
        let record = try record()
        #expect(try sealer(twin, previous: Self.secret).open(sealed(record, sealer(Self.secret))) == record)
        #expect(fault(try sealer(twin), try sealed(record, sealer(Self.secret))) == .forged)
    }

    @Test func secretsAreLong() {
        #expect(FleetKeys(secret: [UInt8](repeating: 1, count: 31)) == nil)
        #expect(FleetKeys(secret: Self.secret, previous: [1]) == nil)
        #expect(FleetKeys(secret: Self.secret).map { "\($0) \(String(reflecting: $0))" }?.contains("7") == false)
    }

    /// Only a node of the fleet makes these; it is of another version.
    @Test(
        arguments: [
            [], [0], [0, 0], [3, 0] + time + [1, 97], [0, 7] + time + [1, 97], [0, 0] + time + [0],
            [0, 0] + time + [1, 97, 1], [0, 3] + time + [2, 97], [0, 3] + time + [65], [0, 3] + time + [1, 32],
        ] as [[UInt8]]
    )
    func otherContentsAreNoRecords(_ content: [UInt8]) throws {
        #expect(PurgeRecord(id: try record().id, content: content) == nil)
    }

    private static let time = [UInt8](repeating: 0, count: 16)
}
