import Foundation
import TestSupport
import Testing

/// cache-dump verify and recover.
@Suite(.timeLimit(.minutes(20)))
struct CacheDumpVerifyTests {
    /// Overwrites the marker that begins some bytes of the sample store's only body of that text.
    private func damage(_ store: String, _ text: String) throws {
        let database = URL(fileURLWithPath: store).appendingPathComponent("0001.sqlite")
        var bytes = try Data(contentsOf: database)
        let place = try #require(bytes.range(of: Data(text.utf8)))
        bytes.replaceSubrange(place.lowerBound..<place.lowerBound + 4, with: Data("....".utf8))
        try bytes.write(to: database)
    }

    @Test(arguments: [[], ["--full"]])
    func verifyReportsWholeStore(options: [String]) async throws {
        try await SampleStore.with { store in
            let outcome = try await Tool.cacheDump.run(arguments: ["verify", store] + options)
            #expect(outcome.status == 0)
            #expect(outcome.text.hasPrefix("\(store): whole (8 of 8 entries examined"))
            #expect(outcome.error == "")
            let json = try await Tool.cacheDump.run(arguments: ["verify", store, "--format", "json"] + options)
            let report = try #require(try json.objects().first)
            #expect(report["whole"] as? Bool == true)
            #expect(report["full"] as? Bool == !options.isEmpty)
            let help = try await Tool.cacheDump.run("verify", "--help").text
            for key in report.keys { #expect(help.contains(key), "\(key)") }
        }
    }

    @Test func verifyReportsDamageByLineAndStatus() async throws {
        try await SampleStore.withClosed { store in
            try damage(store, #"{"moments":[]}"#)
            let outcome = try await Tool.cacheDump.run("verify", store, "--full")
            #expect(outcome.status == 1)
            #expect(outcome.lines.count == 2)
            #expect(outcome.text.hasPrefix("body "))
            #expect(outcome.text.contains(SampleStore.feed))
            #expect(outcome.text.contains(": damaged, 1 finding"))
            #expect(outcome.error == "")
            let json = try await Tool.cacheDump.run("verify", store, "--full", "--format", "json")
            #expect(json.status == 1)
            let finding = try #require(try json.objects().first)
            #expect(finding["finding"] as? String == "body" && finding["url"] as? String == SampleStore.feed)
            let help = try await Tool.cacheDump.run("verify", "--help").text
            for key in finding.keys { #expect(help.contains(key), "\(key)") }
        }
    }

    @Test func secretsInURLsAreNotShown() async throws {
        try await SampleStore.withClosed { store in
            try damage(store, "guarded")
            for arguments in [["verify", store, "--full"], ["recover", store, store + ".new"]] {
                let outcome = try await Tool.cacheDump.run(arguments: arguments)
                #expect(outcome.status == 1)
                #expect(!outcome.text.contains(SampleStore.secret))
            }
        }
    }

    @Test func recoverCopiesUndamagedEntries() async throws {
        try await SampleStore.withClosed { store in
            let copied = try await Tool.cacheDump.run("recover", store, store + ".whole")
            #expect(copied.status == 0)
            #expect(copied.text.contains("6 responses and 2 objects"))
            try damage(store, #"{"moments":[]}"#)
            let outcome = try await Tool.cacheDump.run("recover", store, store + ".new", "--format", "json")
            #expect(outcome.status == 1)
            let objects = try outcome.objects()
            #expect(objects.count == 2)
            #expect(objects[0]["url"] as? String == SampleStore.feed)
            #expect(objects[1]["responses"] as? Int == 5 && objects[1]["complete"] as? Bool == false)
            let help = try await Tool.cacheDump.run("recover", "--help").text
            for key in objects.flatMap(\.keys) { #expect(help.contains(key), "\(key)") }
            let found = try await Tool.cacheDump.run("verify", store + ".new", "--full")
            #expect(found.status == 0, "\(found.text)")
            let list = try await Tool.cacheDump.run("list", store + ".new", "--format", "json")
            #expect(try list.objects().count == 7)
        }
    }

    @Test func recoverRejectsStoreInUse() async throws {
        try await SampleStore.with { store in
            let outcome = try await Tool.cacheDump.run("recover", store, store + ".new")
            #expect(outcome.status == 1)
            #expect(outcome.error.contains("'\(store)'"))
            #expect(!FileManager.default.fileExists(atPath: store + ".new"))
        }
    }

    @Test(arguments: [["verify"], ["verify", "x", "--quick"], ["recover", "x"], ["recover", "x", "y", "z"]])
    func wrongCommandLineIs64(arguments: [String]) async throws {
        let outcome = try await Tool.cacheDump.run(arguments: arguments)
        #expect(outcome.status == 64)
        #expect(outcome.text == "")
    }

    @Test(arguments: ["verify", "recover"])
    func rejectsPathThatIsNotAStore(command: String) async throws {
        try await TemporaryFolder.with { folder in
            let path = folder.appendingPathComponent("missing").path
            let new = folder.appendingPathComponent("new").path
            let outcome = try await Tool.cacheDump.run(
                arguments: [command, path] + (command == "recover" ? [new] : [])
            )
            #expect(outcome.status == 1)
            #expect(outcome.error.contains("'\(path)' is not a store: "), "\(outcome.error)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
        }
    }
}
