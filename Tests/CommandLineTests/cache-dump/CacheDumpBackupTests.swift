import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20))) struct CacheDumpBackupTests {
    @Test func copiesAStoreThatIsInUse() async throws {
        try await SampleStore.with { store in
            let backup = store + ".backup"
            let outcome = try await Tool.cacheDump.run("backup", store, backup)
            #expect(outcome.status == 0)
            #expect(outcome.text.hasPrefix("\(backup): 6 responses and 2 objects, "), "\(outcome.text)")
            #expect(outcome.lines.count == 1)
            // No percentage, because this is no terminal.
            #expect(outcome.error == "")
            let found = try await Tool.cacheDump.run("verify", backup, "--full")
            #expect(found.status == 0 && found.text.contains("whole (8 of 8 entries"), "\(found.text)")
            let entries = try await Tool.cacheDump.run("list", backup, "--format", "json")
            #expect(try entries.objects().count == 8)
            #expect(!outcome.text.contains(SampleStore.secret))
        }
    }

    @Test func helpNamesEveryKeyOfItsJSON() async throws {
        try await SampleStore.withClosed { store in
            let outcome = try await Tool.cacheDump.run("backup", store, store + ".backup", "--format", "json")
            let objects = try outcome.objects()
            #expect(outcome.status == 0 && objects.count == 1)
            let report = try #require(objects.first)
            #expect(report["responses"] as? Int == 6 && report["objects"] as? Int == 2)
            #expect(report["folder"] as? String == store + ".backup" && report["invalidations"] as? Bool == true)
            let help = try await Tool.cacheDump.run("backup", "--help").text
            for key in report.keys { #expect(help.contains(key), "\(key)") }
        }
    }

    /// Copied with 'cp', as a manual says, and used in the place of the store.
    @Test func backupIsRestoredByCopyingItsFolder() async throws {
        try await SampleStore.withClosed { store in
            let before = try await Tool.cacheDump.run("list", store, "--format", "json")
            #expect(try await Tool.cacheDump.run("backup", store, store + ".backup").status == 0)
            try FileManager.default.removeItem(atPath: store)
            try FileManager.default.copyItem(atPath: store + ".backup", toPath: store)
            let after = try await Tool.cacheDump.run("list", store, "--format", "json")
            #expect(try after.objects().count == before.objects().count && after.status == 0)
            #expect(try await Tool.cacheDump.run("verify", store, "--full").status == 0)
        }
    }

    @Test func removesWhatAnInterruptedBackupLeftAndSaysSo() async throws {
        try await SampleStore.withClosed { store in
            let unfinished = store + ".backup.unfinished"
            try FileManager.default.createDirectory(atPath: unfinished, withIntermediateDirectories: true)
            for name in ["backup.lock", "copying"] {
                try Data("1".utf8).write(to: URL(fileURLWithPath: unfinished).appendingPathComponent(name))
            }
            let outcome = try await Tool.cacheDump.run("backup", store, store + ".backup")
            #expect(outcome.status == 0)
            #expect(outcome.error == "Removed '\(unfinished)', which an interrupted backup left.\n")
            #expect(!FileManager.default.fileExists(atPath: unfinished))
        }
    }

    @Test func folderThatIsNotEmptyIsRejectedAndKept() async throws {
        try await SampleStore.withClosed { store in
            let parent = URL(fileURLWithPath: store).deletingLastPathComponent().path
            for path in [store, store + "/backup", parent] {
                let before = try FileManager.default.subpathsOfDirectory(atPath: store)
                let outcome = try await Tool.cacheDump.run("backup", store, path)
                #expect(outcome.status == 1 && outcome.text == "")
                #expect(outcome.error.contains("'\(path)'"), "\(outcome.error)")
                #expect(outcome.error.contains("Nothing was changed."), "\(outcome.error)")
                #expect(try FileManager.default.subpathsOfDirectory(atPath: store) == before)
            }
        }
    }

    @Test func linkIsRejectedAndKept() async throws {
        try await SampleStore.withClosed { store in
            let (link, empty) = (store + ".link", store + ".empty")
            try FileManager.default.createDirectory(atPath: empty, withIntermediateDirectories: false)
            for (target, words) in [
                (store + ".none", "'\(link)' is a symbolic link that leads to no folder. Remove it"),
                (empty, "'\(link)' is a symbolic link. Remove it"),
            ] {
                try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
                let outcome = try await Tool.cacheDump.run("backup", store, link)
                #expect(outcome.status == 1 && outcome.error.contains(words), "\(outcome)")
                #expect(outcome.error.contains("Nothing was changed."), "\(outcome)")
                #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == target)
                try FileManager.default.removeItem(atPath: link)
            }
        }
    }

    @Test func pathThatIsNotAStoreIsRejected() async throws {
        try await TemporaryFolder.with { folder in
            let path = folder.appendingPathComponent("missing").path
            let outcome = try await Tool.cacheDump.run("backup", path, folder.appendingPathComponent("new").path)
            #expect(outcome.status == 1 && outcome.text == "")
            #expect(outcome.error.contains("'\(path)' is not a store: "), "\(outcome.error)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
        }
    }

    /// The error of a downgrade, in the words of the manual.
    @Test func newerStoreIsRejectedWithBothVersionsAndTheNextStep() async throws {
        try await SampleStore.withClosed { store in
            let database = URL(fileURLWithPath: store).appendingPathComponent("0001.sqlite")
            var bytes = try Data(contentsOf: database)
            // SQLite keeps 'user_version', the number of our schema, in four bytes at offset 60.
            bytes[62] = 0x7F
            try bytes.write(to: database)
            for arguments in [["backup", store, store + ".backup"], ["verify", store], ["stats", store]] {
                let outcome = try await Tool.cacheDump.run(arguments: arguments)
                #expect(outcome.status == 1)
                #expect(outcome.error.contains("has schema version 32517; this program supports versions up to "))
                #expect(
                    outcome.error.contains(
                        "Install the newer version again, restore a backup from before the upgrade, "
                            + "or use another folder. Nothing was changed."
                    )
                )
            }
            #expect(!FileManager.default.fileExists(atPath: store + ".backup"))
            #expect(try Data(contentsOf: database) == bytes)
        }
    }

    @Test(arguments: [
        ["backup"], ["backup", "x"], ["backup", "x", "y", "z"], ["backup", "x", "y", "--format", "xml"],
        ["backup", "x", "y", "--full"],
    ])
    func wrongCommandLineIs64(arguments: [String]) async throws {
        let outcome = try await Tool.cacheDump.run(arguments: arguments)
        #expect(outcome.status == 64)
        #expect(outcome.text == "")
        #expect(outcome.error.hasPrefix("Error: "))
    }
}
