import CSQLite
import Foundation
import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore
import TestSupport
import Testing

@testable import OfflineStore
@testable import StoreFiles
@testable import StoreMemory

/// The effects of other openings, slow readers and large heads on an open store.
@Suite(.timeLimit(.minutes(20))) struct SharedFileTests {
    let folder: TemporaryFolder
    let clock = ManualClock()

    init() throws { folder = try TemporaryFolder() }

    #if os(Linux)
        /// Closing a descriptor of a file releases all locks that the process holds on it (POSIX).
        /// The next program that opens and closes the database would then consider itself the last
        /// user, and remove the log under the writer.
        @Test(arguments: [true, false])
        func openingAgainKeepsTheLocks(_ isReader: Bool) async throws {
            let store = try await openStore(folder.store, clock: clock)
            try await store.setObject(1, forKey: "n")
            try await store.settle()
            let before = try locks(folder.store + "/0001.sqlite")
            if isReader {
                try await openReadOnly(folder.store, clock: clock).close()
            } else {
                #expect(await code { _ = try await openStore(folder.store, clock: clock) } == .inUse)
            }
            #expect(before > 0)
            #expect(try locks(folder.store + "/0001.sqlite") == before)
            try await store.close()
        }

        /// Returns the number of locks that this process holds on a file.
        ///
        /// The list of the whole machine, `/proc/locks`, comes in pieces. It lacks lines when other
        /// locks end between two pieces. The list of one descriptor comes whole.
        private func locks(_ path: String) throws -> Int {
            var file = stat()
            try #require(stat(path, &file) == 0)
            var count = 0
            for name in TemporaryFolder.names("/proc/self/fd") {
                var opened = stat()
                guard let descriptor = Int32(name), fstat(descriptor, &opened) == 0 else { continue }
                guard opened.st_dev == file.st_dev, opened.st_ino == file.st_ino else { continue }
                let lines = try String(contentsOfFile: "/proc/self/fdinfo/" + name, encoding: .utf8)
                count += lines.split(separator: "\n").count { $0.hasPrefix("lock:") && $0.contains("POSIX") }
            }
            return count
        }
    #endif

    @Test func tooLargeHeadIsDeclinedAndEvictsNothing() async throws {
        let store = try await openStore(folder.store, clock: clock, budget: 4 << 20)
        for number in 0..<30 { try await store.setObject(number, forKey: "\(number)") }
        let name = try #require(HTTPField.Name("X-Large"))
        let fields: HTTPFields = [name: String(repeating: "x", count: 3 << 20)]
        let response = RawResponse(status: .ok, fields: fields, body: ByteBuffer(string: "1"))
        #expect(
            await code { try await store.setResponse(response, for: try cacheKey("/large"), expiry: .never) }
                == .tooLarge
        )
        var passing = draft(try cacheKey("/passing"), at: clock.now())
        passing.head.fields = fields
        let writer = try await store.responses.beginWrite(passing, fencingNumber: store.responses.invalidationSequence)
        #expect(writer == nil)
        for number in 0..<30 { #expect(try await store.object(Int.self, forKey: "\(number)") == number) }
        try await store.close()
    }

    /// A reader that never ends keeps the log from being reused. Stored entries stay, and new
    /// responses are declined.
    @Test func endlessReaderDoesNotEmptyTheStore() async throws {
        let store = try await openStore(folder.store, clock: clock, budget: 16 << 20)
        for number in 0..<100 { try await store.setObject(String(repeating: "x", count: 20_000), forKey: "\(number)") }
        var reader: OpaquePointer?
        defer { sqlite3_close(reader) }
        #expect(sqlite3_open_v2(folder.store + "/0001.sqlite", &reader, SQLITE_OPEN_READONLY, nil) == SQLITE_OK)
        #expect(sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM entry", nil, nil, nil) == SQLITE_OK)
        var declined = 0
        for number in 0..<1500 {
            let response = try await store.store(
                draft(try cacheKey("/\(number)"), at: clock.now()),
                String(repeating: "y", count: 20_000)
            )
            if response == nil { declined += 1 }
        }
        #expect(declined > 0)
        #expect(try await store.statistics().objects == 100)
        #expect(sqlite3_exec(reader, "COMMIT", nil, nil, nil) == SQLITE_OK)
        // The reader has ended. New responses find that out, and are stored again soon.
        var again: StoredResponse?
        for _ in 0..<100_000 where again == nil {
            again = try await store.store(draft(try cacheKey("/after"), at: clock.now()), "after")
            await Task.yield()
        }
        #expect(again != nil)
        try await store.close()
    }

    /// Explicit calls wait for no reader. They are rejected before the log of a reader that does
    /// not end in-flight fetches the disk.
    @Test func logStaysBoundedUnderAnEndlessReader() async throws {
        let store = try await openStore(folder.store, clock: clock, budget: 16 << 20) {
            $0.checkpointThreshold = 256 << 10
        }
        let database = try store.core.database()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<1200 { group.addTask { try await store.setObject(number, forKey: "\(number)") } }
            try await group.waitForAll()
        }
        try await store.settle()
        var reader: OpaquePointer?
        defer { sqlite3_close(reader) }
        #expect(sqlite3_open_v2(folder.store + "/0001.sqlite", &reader, SQLITE_OPEN_READONLY, nil) == SQLITE_OK)
        #expect(sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM entry", nil, nil, nil) == SQLITE_OK)
        var refused = 0
        for number in 0..<150 {
            let text = await message {
                try await store.setObject(String(repeating: "y", count: 60_000), forKey: "large-\(number)")
            }
            if !text.isEmpty {
                refused += 1
                #expect(text.contains("a read transaction in another process stays open"), "\(text)")
            }
            // Recording uses must not make the log grow either.
            for number in 0..<1200 where refused > 0 && refused < 5 {
                #expect(try await store.object(Int.self, forKey: "\(number)") == number)
            }
        }
        #expect(refused > 50)
        let limit = database.state.limits.heldLog + Int64(database.state.limits.transaction)
        #expect(fileSize(folder.store + "/0001.sqlite-wal") <= limit)
        // An invalidation is in force all the same.
        try await store.responses.invalidate(.all, keepingForOffline: true, at: clock.now())
        #expect(try await store.removeObject(forKey: "0"))
        #expect(sqlite3_exec(reader, "COMMIT", nil, nil, nil) == SQLITE_OK)
        try await store.setObject(String(repeating: "y", count: 60_000), forKey: "after")
        #expect(fileSize(folder.store + "/0001.sqlite-wal") < 1 << 20)
        try await store.close()
    }

    @Test func readerFollowsAStoreThatWasCreatedAgain() async throws {
        let old = try await openStore(folder.store, clock: clock)
        try await old.setObject("old", forKey: "n")
        try await old.close()
        let reader = try await openReadOnly(folder.store, clock: clock)
        #expect(try await reader.object(String.self, forKey: "n") == "old")
        // Kept under another name, so that the file system has no reason to reuse its inode.
        #expect(rename(folder.store, folder.path + "/before") == 0)
        let new = try await openStore(folder.store, clock: clock)
        try await new.setObject("new", forKey: "n")
        #expect(try await reader.object(String.self, forKey: "n") == "new")
        try await reader.close()
        try await new.close()
    }

    @Test func reservationOfNoSpaceNeverWaits() async throws {
        let room = SpaceReservation(limit: 10)
        #expect(room.reserve(10))
        let waiting = Task { await room.reserveInTurn(5) }
        for _ in 0..<100 { await Task.yield() }
        #expect(room.reserve(0))
        await room.reserveInTurn(0)
        room.release(10)
        await waiting.value
    }

    @Test func concurrentInvalidationsKeepTheNewestSlot() throws {
        let path = folder.path + "/sequence"
        let sidecar = try SequenceSidecar(path: path)
        for number in stride(from: Int64(2), through: 10, by: 2) { try sidecar.write(number) }
        // A torn write of the last number leaves the one before it.
        var bytes = try Data(contentsOf: URL(filePath: path))
        let slots = [0, 4096].filter { $0 + 24 <= bytes.count }
        #expect(slots.count == 2)
        let newest = try #require(
            slots.max { bytes[$0 + 8..<$0 + 16].lexicographicallyPrecedes(bytes[$1 + 8..<$1 + 16]) }
        )
        bytes[newest + 12] ^= 0xff
        try bytes.write(to: URL(filePath: path))
        #expect(try SequenceSidecar(path: path).read() == 8)
    }

    /// Two threads write numbers: the later of two may be the smaller one.
    @Test func smallerNumberReplacesNone() throws {
        let path = folder.path + "/sequence"
        let sidecar = try SequenceSidecar(path: path)
        for number in [Int64(7), 8, 4, 9] { try sidecar.write(number) }
        var bytes = try Data(contentsOf: URL(filePath: path))
        let newest = try #require([0, 4096].first { bytes[$0 + 8..<$0 + 16].contains(9) })
        bytes[newest + 12] ^= 0xff
        try bytes.write(to: URL(filePath: path))
        #expect(try SequenceSidecar(path: path).read() == 8)
    }

    @Test(arguments: ["", "/tmp/a\u{0}b"])
    func invalidPathsAreRejected(path: String) async {
        #expect(await code { _ = try await openStore(path, clock: clock) } == .invalidConfiguration)
        #expect(await code { _ = try await openReadOnly(path, clock: clock) } == .invalidConfiguration)
    }
}
