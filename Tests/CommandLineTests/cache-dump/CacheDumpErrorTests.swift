import Foundation
import TestSupport
import Testing

/// cache-dump: help and wrong input.
@Suite(.timeLimit(.minutes(20)))
struct CacheDumpErrorTests {
    @Test(arguments: [
        (["--help"], "EXAMPLES"), (["list", "--help"], "timeToLiveSeconds"), (["show", "--help"], "--body"),
        (["stats", "--help"], "storedBytes"), ([], "USAGE: cache-dump"), (["--version"], "development"),
    ])
    func helpExplains(arguments: [String], text: String) async throws {
        let outcome = try await Tool.cacheDump.run(arguments: arguments)
        #expect(outcome.status == 0)
        #expect(outcome.text.contains(text))
        #expect(outcome.error == "")
    }

    @Test(arguments: [
        ["list"], ["dump", "x"], ["list", "x", "--format", "xml"], ["list", "x", "--limit", "0"], ["show", "x"],
        ["list", "x", "--kind", "objects", "--url-prefix", "http://"], ["list", "x", "--no-such-option"],
    ])
    func wrongCommandLineIs64(arguments: [String]) async throws {
        let outcome = try await Tool.cacheDump.run(arguments: arguments)
        #expect(outcome.status == 64)
        #expect(outcome.text == "")
        #expect(outcome.error.hasPrefix("Error: "))
    }

    /// Mutant: the number is taken for an option.
    @Test(arguments: ["0", "-1"]) func limitBelowOneIsNamed(limit: String) async throws {
        let outcome = try await Tool.cacheDump.run("list", "x", "--limit", limit)
        #expect(outcome.status == 64 && outcome.error.contains("'--limit' must be 1 or more, not '\(limit)'."))
    }

    @Test(arguments: ["list", "stats"])
    func rejectsPathThatIsNotAStoreAndLeavesIt(command: String) async throws {
        try await TemporaryFolder.with { folder in
            let empty = folder.appendingPathComponent("empty")
            try FileManager.default.createDirectory(at: empty, withIntermediateDirectories: true)
            let file = folder.appendingPathComponent("file")
            try Data("not a store".utf8).write(to: file)
            let paths = [folder.appendingPathComponent("missing").path, empty.path, file.path, folder.path]
            for path in paths {
                let outcome = try await Tool.cacheDump.run(command, path)
                #expect(outcome.status == 1)
                #expect(outcome.text == "")
                #expect(outcome.error.contains("'\(path)' is not a store: "), "\(outcome.error)")
                #expect(!outcome.error.contains("or an empty or new one"), "\(outcome.error)")
            }
            let left = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
            #expect(left == ["empty", "file"])
            #expect(try FileManager.default.contentsOfDirectory(atPath: empty.path).isEmpty)
        }
    }

    @Test func rejectsForeignDatabaseAndLeavesIt() async throws {
        try await TemporaryFolder.with { folder in
            // The header of an SQLite database of an unknown program.
            var header = Data("SQLite format 3\0".utf8)
            header.append(contentsOf: [0x10, 0x00, 1, 1, 0, 64, 32, 32])
            header.append(Data(count: 4_096 - header.count))
            let database = folder.appendingPathComponent("0001.sqlite")
            try header.write(to: database)
            try Data("0001.sqlite\n".utf8).write(to: folder.appendingPathComponent("CURRENT"))
            let outcome = try await Tool.cacheDump.run("list", folder.path)
            #expect(outcome.status == 1)
            #expect(outcome.error.contains("belongs to another program"))
            #expect(try Data(contentsOf: database) == header)
        }
    }

    @Test func rejectsNewerStore() async throws {
        try await SampleStore.withClosed { store in
            // SQLite keeps 'user_version', the number of our schema, in four bytes at offset 60.
            let database = URL(fileURLWithPath: store).appendingPathComponent("0001.sqlite")
            var bytes = try Data(contentsOf: database)
            bytes[62] = 0x7F
            try bytes.write(to: database)
            let outcome = try await Tool.cacheDump.run("list", store)
            #expect(outcome.status == 1)
            #expect(outcome.error.contains("newer"), "\(outcome.error)")
        }
    }

    @Test(arguments: ["http://a.example/unknown", "nothing", "00000000ffff", "x", "http://", "ftp://a.example/"])
    func rejectsUnknownKey(key: String) async throws {
        try await SampleStore.with { store in
            for format in ["text", "json"] {
                let outcome = try await Tool.cacheDump.run("show", store, key, "--format", format)
                #expect(outcome.status == 1)
                #expect(outcome.text == "")
                #expect(outcome.error.contains("'\(key)'"), "\(outcome.error)")
                #expect(outcome.error.contains("needs at least 4 digits") == (key == "x"), "\(outcome.error)")
                #expect(outcome.error.contains("the URLs of origins") == key.hasSuffix("/unknown"), "\(outcome.error)")
            }
        }
    }
}
