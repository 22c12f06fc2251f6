import Foundation
import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import OfflineStore
import TestSupport
import Testing

@testable import OfflineStoreRecovery

/// Numbers on the pages of a damaged store, and in its log: lengths, counts, offsets and page
/// numbers at their limits. A trap ends the tests. docs/attacks.md, 75
@Suite(.timeLimit(.minutes(20)))
struct RecoverNumberTests {
    private static let pageSize = 8192
    private static let numbers: [UInt32] = [0, 1, 0x7F, 0x80, 0xFFFF, 0x7FFF_FFFF, 0x8000_0000, 0x8000_0001, .max]

    private static let rowLengths: [Int64] = [
        .min, -1, 4_294_967_297, 9_007_199_254_740_992, .max - 65_535, .max - 1, .max,
    ]

    let folder: TemporaryFolder
    let clock = ManualClock()
    private var database: String { folder.store + "/0001.sqlite" }

    init() throws { folder = try TemporaryFolder() }

    /// A closed store of a few pages, with a row that overflows its page and a body of two chunks.
    private func filled() async throws -> [UInt8] {
        let store = try await openStore(folder.store, clock: clock)
        for (index, length) in [0, 10, 20_000, 70_000].enumerated() {
            let fields = [.server: String(repeating: "s", count: index == 1 ? 20_000 : 10)] as HTTPFields
            try await store.store(
                draft(try cacheKey("/\(index)"), at: clock.now(), fields: fields, tags: ["t"]),
                [pattern(length, seed: UInt64(index))]
            )
        }
        try await store.close()
        return Array(try Data(contentsOf: URL(fileURLWithPath: database)))
    }

    /// Reads all of a database that recovery reads.
    ///
    /// - Returns: how many rows there are.
    @discardableResult
    private func read(_ path: String) throws -> Int {
        let image = try DatabaseImage(path: path)
        let use = PageUse(image)
        #expect(image.pageCount <= 1 << 21 && image.presentPages <= image.pageCount)
        var rows = 0
        let pages = Set((1...64).filter { $0 <= image.pageCount } + [image.pageCount, image.pageCount - 1, 1])
        for number in pages.sorted() where number > 0 {
            _ = use.use(of: number)
            _ = use.root(of: number)
            guard let page = TreePage(image.page(number), number: number) else { continue }
            _ = page.children
            _ = page.readCells(of: image) { if SourceRow($0) != nil { rows += 1 } }
        }
        return rows
    }

    private func write(_ bytes: [UInt8], _ name: String = "damaged") throws -> String {
        let path = folder.path + "/" + name
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        return path
    }

    private static func put(_ number: UInt32, _ count: Int, at place: Int, in bytes: inout [UInt8]) {
        for index in 0..<count where place + index < bytes.count {
            bytes[place + index] = UInt8(truncatingIfNeeded: number >> UInt32(8 * (count - 1 - index)))
        }
    }

    @Test func numbersOfTheHeader() async throws {
        let bytes = try await filled()
        #expect(try read(database) > 8)
        for place in stride(from: 16, to: 100, by: 4) {
            for number in Self.numbers {
                var damaged = bytes
                Self.put(number, 4, at: place, in: &damaged)
                // The copy behind the counter agrees, so that the claimed size is looked at.
                if place == 28 { damaged[92..<96] = damaged[24..<28] }
                try read(write(damaged))
            }
        }
    }

    /// Every place of two or four bytes in the header of each page, in its first pointers and its
    /// first cells.
    @Test func numbersOfPages() async throws {
        let bytes = try await filled()
        for page in 0..<min(bytes.count / Self.pageSize, 16) {
            let start = page * Self.pageSize + (page == 0 ? 100 : 0)
            let first = Int(bytes[start + 8]) << 8 | Int(bytes[start + 9])
            let cell = page * Self.pageSize + min(first, Self.pageSize - 16)
            for place in [
                start, start + 1, start + 3, start + 5, start + 7, start + 8, start + 12, cell, cell + 1, cell + 4,
            ] {
                for number in Self.numbers {
                    for count in [1, 2, 4] {
                        var damaged = bytes
                        Self.put(number, count, at: place, in: &damaged)
                        try read(write(damaged))
                    }
                }
            }
        }
    }

    /// Lengths and row numbers of one to nine bytes.
    @Test func numbersOfAnyLengthInCells() async throws {
        let bytes = try await filled()
        let numbers: [[UInt8]] = [
            [0x00], [0x7F], [0x81, 0x00], [0xFF, 0x7F], [0x87, 0xFF, 0xFF, 0xFF, 0x7F], [0x88, 0x80, 0x80, 0x80, 0x00],
            [UInt8](repeating: 0xFF, count: 9), [0xBF] + [UInt8](repeating: 0xFF, count: 8), [0x80] + [0xFF],
            [0xC0] + [UInt8](repeating: 0x80, count: 7) + [0],
        ]
        for page in 0..<min(bytes.count / Self.pageSize, 16) {
            let start = page * Self.pageSize + (page == 0 ? 100 : 0)
            let first = Int(bytes[start + 8]) << 8 | Int(bytes[start + 9])
            for place in 0..<8 {
                for number in numbers {
                    var damaged = bytes
                    let at = page * Self.pageSize + min(first, Self.pageSize - 16) + place
                    for (index, byte) in number.enumerated() where at + index < damaged.count {
                        damaged[at + index] = byte
                    }
                    try read(write(damaged))
                }
            }
        }
        for number in numbers {
            var offset = 0
            _ = number.varint(at: &offset)
            _ = RecordValue.values(number + number + number)
        }
    }

    /// A log whose checksums are right, with pages and sizes of any number.
    @Test func numbersOfTheLog() async throws {
        let bytes = try await filled()
        for page in Self.numbers {
            for size in Self.numbers {
                let path = try write(bytes, "logged")
                let log = Log(frames: [
                    (1, 0, Array(bytes.prefix(Self.pageSize))), (page, size, bytes.suffix(Self.pageSize)),
                ])
                try Data(log.bytes).write(to: URL(fileURLWithPath: path + "-wal"))
                try read(path)
            }
        }
    }

    /// Lengths that a damaged row states: a look-up, a verification and a recovery read it.
    ///
    /// Mutant: `chunkCount` that adds before it divides.
    @Test(arguments: rowLengths)
    func rowsStateAnyLength(_ length: Int64) async throws {
        _ = try await filled()
        try runSQL(database, "UPDATE entry SET body_length = \(length)")
        #expect(try await !CacheManager.verify(at: folder.store).findings.isEmpty)
        let store = try await openStore(folder.store, clock: clock)
        for index in 0..<4 { #expect(try await store.response(for: cacheKey("/\(index)")) == nil) }
        try await store.close()
        let recovery = try await CacheManager.recover(from: database, to: folder.path + "/rows")
        #expect(recovery.responses == 0)
    }

    /// A whole recovery from each kind of claim ends, and in time.
    @Test(arguments: [UInt32(0), 1, 0x7FFF_FFFF, .max])
    func recoveryEnds(_ number: UInt32) async throws {
        var bytes = try await filled()
        Self.put(number, 4, at: 32, in: &bytes)
        Self.put(number, 4, at: 3 * Self.pageSize + 8, in: &bytes)
        try Data(bytes).write(to: URL(fileURLWithPath: database))
        let recovery = try await CacheManager.recover(from: database, to: folder.path + "/new-\(number)")
        #expect(recovery.responses <= 4)
    }
}

/// A write-ahead log with the right checksums. <https://www.sqlite.org/fileformat2.html#walformat>
private struct Log {
    private(set) var bytes: [UInt8] = []
    private var sums: (UInt32, UInt32) = (0, 0)

    init(frames: [(page: UInt32, size: UInt32, content: [UInt8])]) {
        append([0x377F_0683, 3_007_000, 8192, 0, 7, 9].flatMap(Self.number))
        for frame in frames {
            let head = Self.number(frame.page) + Self.number(frame.size)
            add(head)
            add(frame.content)
            bytes += head + Self.number(7) + Self.number(9) + Self.number(sums.0) + Self.number(sums.1) + frame.content
        }
    }

    private mutating func append(_ head: [UInt8]) {
        add(head)
        bytes += head + Self.number(sums.0) + Self.number(sums.1)
    }

    private mutating func add(_ content: [UInt8]) {
        for place in stride(from: 0, to: content.count - 7, by: 8) {
            sums.0 = sums.0 &+ Self.word(content, place) &+ sums.1
            sums.1 = sums.1 &+ Self.word(content, place + 4) &+ sums.0
        }
    }

    private static func word(_ bytes: [UInt8], _ place: Int) -> UInt32 {
        bytes[place..<place + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }

    private static func number(_ number: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: number >> UInt32(24 - 8 * $0)) }
    }
}
