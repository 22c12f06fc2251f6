import Foundation
import HTTPCacheSemantics
import HoldfastTesting
import NIOCore
import SampleOrigin
import Testing

@testable import Holdfast

@Suite(.timeLimit(.minutes(20))) struct DownloadTests {
    private static let content = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
    private let endpoint = PathEndpoint(baseURL: "https://a.example", path: "/film")

    /// A client on an origin that serves ranges, and a folder for the downloads.
    private func run(
        fields: HTTPFields = [.eTag: "\"one\""],
        retries: Int = 0,
        _ body: (ManualFixture, RangeOrigin, String) async throws -> Void
    ) async throws {
        let origin = RangeOrigin(Self.content, fields: fields)
        var configuration = CachingClient.Configuration()
        configuration.retry = RetryPlan(limit: retries, delay: .zero)
        let fixture = try await ManualFixture(configuration, transport: origin)
        try await body(fixture, origin, fixture.folder + "/film.bin")
        try await fixture.close()
    }

    private func contents(_ path: String) -> [UInt8]? {
        FileManager.default.contents(atPath: path).map { Array($0) }
    }

    private func files(_ fixture: ManualFixture) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: fixture.folder).filter { $0 != "store" }.sorted()
    }

    @Test func fileIsCompleteAndReadableByItsOwnerOnly() async throws {
        try await run { fixture, origin, path in
            let file = try await fixture.client.download(endpoint, to: DownloadDestination(path))
            #expect(contents(path) == Self.content)
            #expect(file.path == path && file.length == 1_000_000 && file.resumedFrom == 0)
            #expect(file.head.status == .ok)
            #expect(try files(fixture) == ["film.bin"])
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            #expect(origin.requests.map { $0.headerFields[.acceptEncoding] } == ["identity"])
        }
    }

    @Test func resumesAtTheBreak() async throws {
        try await run { fixture, origin, path in
            origin.change { $0.cuts = [600_001] }
            await expect(.truncated) { _ = try await fixture.client.download(endpoint, to: DownloadDestination(path)) }
            #expect(try files(fixture) == ["film.bin.part", "film.bin.part.json"])
            #expect(contents(path + ".part") == Array(Self.content.prefix(600_001)))
            let file = try await fixture.client.download(endpoint, to: DownloadDestination(path))
            #expect(contents(path) == Self.content)
            #expect(file.resumedFrom == 600_001 && file.length == 1_000_000)
            #expect(origin.ranges == [nil, "bytes=600001-"])
            #expect(origin.requests.last?.headerFields[.ifRange] == "\"one\"")
            #expect(try files(fixture) == ["film.bin"])
        }
    }

    @Test func resumesWithinOneCallByTheRetryPolicy() async throws {
        try await run(retries: 2) { fixture, origin, path in
            origin.change { $0.cuts = [1000, 2000] }
            let file = try await fixture.client.download(endpoint, to: DownloadDestination(path))
            #expect(contents(path) == Self.content)
            #expect(file.resumedFrom == 0)
            #expect(origin.ranges == [nil, "bytes=1000-", "bytes=3000-"])
        }
        try await run(retries: 1) { fixture, origin, path in
            origin.change { $0.cuts = [1000, 2000] }
            await expect(.truncated) { _ = try await fixture.client.download(endpoint, to: DownloadDestination(path)) }
            #expect(origin.requests.count == 2)
            #expect(contents(path) == nil)
        }
    }

    @Test func changedContentBeginsAnew() async throws {
        try await run { fixture, origin, path in
            origin.change { $0.cuts = [5000] }
            await expect(.truncated) { _ = try await fixture.client.download(endpoint, to: DownloadDestination(path)) }
            let other = Array(Self.content.reversed())
            origin.change {
                $0.content = other; $0.fields[.eTag] = "\"two\""
            }
            let file = try await fixture.client.download(endpoint, to: DownloadDestination(path))
            #expect(contents(path) == other)
            #expect(file.resumedFrom == 0)
            #expect(origin.ranges == [nil, "bytes=5000-"])
        }
    }

    @Test func partOfOtherContentIsDiscarded() async throws {
        var strange = HTTPResponse(status: .partialContent, headerFields: [.contentRange: "bytes 4000-999999/1000000"])
        for field in ["bytes 4000-999999/1000000", "bytes 5000-999999/1000001", "bytes 5000-4999/1000000", ""] {
            strange.headerFields[.contentRange] = field
            try await run { [strange] fixture, origin, path in
                origin.change { $0.cuts = [5000] }
                _ = try? await fixture.client.download(endpoint, to: DownloadDestination(path))
                origin.change { $0.instead = [strange] }
                _ = try await fixture.client.download(endpoint, to: DownloadDestination(path))
                #expect(contents(path) == Self.content)
                #expect(origin.ranges == [nil, "bytes=5000-", nil])
            }
        }
    }

    @Test func completePartBecomesTheFile() async throws {
        try await run { fixture, origin, path in
            // All content had arrived when the connection broke.
            origin.change { $0.cuts = [1_000_000] }
            await expect(.truncated) { _ = try await fixture.client.download(endpoint, to: DownloadDestination(path)) }
            let file = try await fixture.client.download(endpoint, to: DownloadDestination(path))
            #expect(origin.ranges == [nil, "bytes=1000000-"])
            #expect(file.head.status == .rangeNotSatisfiable && file.length == 1_000_000)
            #expect(contents(path) == Self.content)
        }
    }

    @Test func shortPartsAreRequestedInSequence() async throws {
        try await run { fixture, origin, path in
            origin.change {
                $0.cuts = [100_000]; $0.longestPart = 400_000
            }
            _ = try? await fixture.client.download(endpoint, to: DownloadDestination(path))
            _ = try await fixture.client.download(endpoint, to: DownloadDestination(path))
            #expect(contents(path) == Self.content)
            #expect(origin.ranges == [nil, "bytes=100000-", "bytes=500000-", "bytes=900000-"])
        }
    }

    @Test(
        arguments: [
            [:], [.eTag: "W/\"weak\""], [.eTag: "\"one\"", .acceptRanges: "none"],
            [.lastModified: "Sun, 06 Nov 1994 08:49:37 GMT", .date: "Sun, 06 Nov 1994 08:50:36 GMT"],
        ] as [HTTPFields]
    )
    func partWithoutAStrongValidatorIsNotKept(_ fields: HTTPFields) async throws {
        try await run(fields: fields) { fixture, origin, path in
            origin.change { $0.cuts = [5000] }
            await expect(.truncated) { _ = try await fixture.client.download(endpoint, to: DownloadDestination(path)) }
            #expect(try files(fixture).isEmpty)
            _ = try await fixture.client.download(endpoint, to: DownloadDestination(path))
            #expect(origin.ranges == [nil, nil])
        }
    }

    @Test func recordDoesNotOutliveItsContent() async throws {
        try await run { fixture, origin, path in
            origin.change { $0.cuts = [5000, 7000] }
            _ = try? await fixture.client.download(endpoint, to: DownloadDestination(path))
            // The content is another one, with no record.
            origin.change {
                $0.content.reverse(); $0.fields = [:]
            }
            _ = try? await fixture.client.download(endpoint, to: DownloadDestination(path))
            #expect(try files(fixture).isEmpty)
            _ = try await fixture.client.download(endpoint, to: DownloadDestination(path))
            #expect(origin.ranges == [nil, "bytes=5000-", nil])
            #expect(contents(path) == Self.content.reversed())
        }
    }

    @Test func oldEnoughDateIsAStrongValidator() async throws {
        let date = "Sun, 06 Nov 1994 08:49:37 GMT"
        try await run(fields: [.lastModified: date, .date: "Sun, 06 Nov 1994 08:50:37 GMT"]) { fixture, origin, path in
            origin.change { $0.cuts = [5000] }
            _ = try? await fixture.client.download(endpoint, to: DownloadDestination(path))
            _ = try await fixture.client.download(endpoint, to: DownloadDestination(path))
            #expect(contents(path) == Self.content)
            #expect(origin.requests.last?.headerFields[.ifRange] == date)
        }
    }

    @Test func partOfAnotherTargetIsNotResumed() async throws {
        try await run { fixture, origin, path in
            origin.change { $0.cuts = [5000] }
            _ = try? await fixture.client.download(endpoint, to: DownloadDestination(path))
            let other = PathEndpoint(baseURL: "https://a.example", path: "/other")
            _ = try await fixture.client.download(other, to: DownloadDestination(path))
            #expect(origin.ranges == [nil, nil])
            #expect(contents(path) == Self.content)
        }
    }

    @Test(arguments: ["", "{}", "no JSON", #"{"target":1}"#]) func damagedRecordIsIgnored(_ record: String) async throws
    {
        try await run { fixture, origin, path in
            origin.change { $0.cuts = [5000] }
            _ = try? await fixture.client.download(endpoint, to: DownloadDestination(path))
            try Data(record.utf8).write(to: URL(filePath: path + ".part.json"))
            _ = try await fixture.client.download(endpoint, to: DownloadDestination(path))
            #expect(origin.ranges == [nil, nil])
            #expect(contents(path) == Self.content)
        }
    }

    @Test func existingFileIsReplacedOnlyOnRequest() async throws {
        try await run { fixture, origin, path in
            try Data("mine".utf8).write(to: URL(filePath: path))
            await expect(.fileFailed) { _ = try await fixture.client.download(endpoint, to: DownloadDestination(path)) }
            #expect(contents(path) == Array("mine".utf8))
            #expect(origin.requests.isEmpty)
            origin.change { $0.cuts = [5000] }
            let destination = DownloadDestination(path, overwrites: true)
            await expect(.truncated) { _ = try await fixture.client.download(endpoint, to: destination) }
            #expect(contents(path) == Array("mine".utf8))
            _ = try await fixture.client.download(endpoint, to: destination)
            #expect(contents(path) == Self.content)
        }
    }

    @Test func fileCreatedMeanwhileIsNotReplaced() async throws {
        try await run { fixture, origin, path in
            let gate = HoldfastTesting.Gate()
            origin.change {
                $0.cuts = [5000]; $0.gate = gate
            }
            let task = Task { [endpoint] in
                try await fixture.client.call(endpoint).with { $0.retry = RetryPlan(limit: 1, delay: .zero) }
                    .download(to: DownloadDestination(path))
            }
            while origin.requests.isEmpty, !Task.isCancelled { await Task.yield() }
            try Data("mine".utf8).write(to: URL(filePath: path))
            gate.open()
            await expect(.fileFailed) { _ = try await task.value }
            #expect(contents(path) == Array("mine".utf8))
        }
    }

    @Test func missingFoldersAreCreatedOrNamed() async throws {
        try await run { fixture, origin, _ in
            let path = fixture.folder + "/a/b/film.bin"
            let error = await #expect(throws: HoldfastError.self) {
                _ = try await fixture.client.download(endpoint, to: DownloadDestination(path, createsFolders: false))
            }
            #expect(error?.code == .fileFailed)
            #expect(error?.message.contains("folder is missing") == true)
            #expect(origin.requests.isEmpty)
            _ = try await fixture.client.download(endpoint, to: DownloadDestination(path))
            #expect(contents(path) == Self.content)
        }
    }

    // A process that is killed between the two steps leaves the part under both names.
    @Test func partLinkedAsTheFileIsNotWritten() async throws {
        try await run { fixture, origin, path in
            try Data("whole".utf8).write(to: URL(filePath: path))
            #expect(link(path, path + ".part") == 0)
            origin.change { $0.cuts = [5000] }
            let destination = DownloadDestination(path, overwrites: true)
            await expect(.truncated) { _ = try await fixture.client.download(endpoint, to: destination) }
            #expect(contents(path) == Array("whole".utf8))
            _ = try await fixture.client.download(endpoint, to: destination)
            #expect(contents(path) == Self.content)
            #expect(try files(fixture) == ["film.bin"])
        }
    }

    // Content that was written but not synchronised survives the end of a process, not a loss of
    // power.
    @Test(arguments: [nil, 3000, 9000] as [Int64?]) func onlySyncedContentSurvivesAMachineRestart(
        _ synced: Int64?
    ) async throws {
        try await run { fixture, origin, path in
            origin.change { $0.cuts = [5000, 7000] }
            _ = try? await fixture.client.download(endpoint, to: DownloadDestination(path))
            let place = URL(filePath: path + ".part.json")
            var record = try JSONDecoder().decode(DownloadRecord.self, from: try Data(contentsOf: place))
            record.synced = synced
            try JSONEncoder().encode(record).write(to: place)
            // This content was lost.
            let part = try FileHandle(forWritingTo: URL(filePath: path + ".part"))
            try part.seek(toOffset: UInt64(min(synced ?? 0, 5000)))
            try part.write(contentsOf: Data(repeating: 0, count: 5000 - Int(min(synced ?? 0, 5000))))
            try part.close()
            try await BootIdentity.$current.withValue("another") {
                _ = try? await fixture.client.download(endpoint, to: DownloadDestination(path))
                _ = try await fixture.client.download(endpoint, to: DownloadDestination(path))
            }
            #expect(contents(path) == Self.content)
            let first = synced.map { min($0, 5000) }
            // The second time, the machine has not restarted.
            #expect(origin.ranges == [nil, first.map { "bytes=\($0)-" }, "bytes=\((first ?? 0) + 7000)-"])
        }
    }

    @Test func folderAsDestinationIsAnErrorBeforeAnyRequest() async throws {
        try await run { fixture, origin, path in
            for place in [path + "/", fixture.folder] {
                await expect(.fileFailed) {
                    _ = try await fixture.client.download(endpoint, to: DownloadDestination(place, overwrites: true))
                }
            }
            let left = try files(fixture)
            #expect(origin.requests.isEmpty && left.isEmpty)
        }
    }

    @Test func fullDiskIsNamed() {
        let error = HoldfastError(file: "/films/film.bin.part", ENOSPC, "be written")
        #expect(error.code == .fileFailed)
        #expect(error.message.contains("'/films/film.bin.part'") && error.message.contains("disk is full"))
    }

    @Test func twoDownloadsToOneFileDoNotMix() async throws {
        try await run { fixture, origin, path in
            let gate = HoldfastTesting.Gate()
            origin.change {
                $0.cuts = [5000]; $0.gate = gate
            }
            let first = Task { [endpoint] in try await fixture.client.download(endpoint, to: DownloadDestination(path))
            }
            while origin.requests.isEmpty, !Task.isCancelled { await Task.yield() }
            await expect(.fileFailed) { _ = try await fixture.client.download(endpoint, to: DownloadDestination(path)) }
            gate.open()
            await expect(.truncated) { _ = try await first.value }
            #expect(contents(path + ".part")?.count == 5000)
        }
    }

    @Test func cancellingKeepsThePart() async throws {
        try await run { fixture, origin, path in
            let gate = HoldfastTesting.Gate()
            origin.change {
                $0.cuts = [300_000]; $0.gate = gate
            }
            let reached = HoldfastTesting.Gate()
            let task = Task { [endpoint] in
                try await fixture.client.download(endpoint, to: DownloadDestination(path)) { progress in
                    if progress.completed == 300_000 { reached.open() }
                }
            }
            try await reached.wait()
            task.cancel()
            let result = await task.result
            #expect(throws: CancellationError.self) { try result.get() }
            #expect(contents(path + ".part") == Array(Self.content.prefix(300_000)))
            #expect(contents(path) == nil)
            _ = try await fixture.client.download(endpoint, to: DownloadDestination(path))
            #expect(origin.ranges == [nil, "bytes=300000-"])
            #expect(contents(path) == Self.content)
        }
    }

    @Test func recoveredRequestAsksForTheSameRange() async throws {
        struct Recovering: RecoveringPlugin {
            func recover(
                from response: HTTPResponse,
                to request: CacheRequest,
                for call: CallInfo
            ) async throws -> Bool { response.status == .unauthorized }
        }
        try await run(fields: [.eTag: "\"one\"", .cacheControl: "max-age=60"]) { fixture, origin, path in
            origin.change { $0.cuts = [5000] }
            _ = try? await fixture.client.download(endpoint, to: DownloadDestination(path))
            origin.change { $0.instead = [HTTPResponse(status: .unauthorized)] }
            let call = fixture.client.call(endpoint).with { $0.plugins = [Recovering()] }
            let file = try await call.download(to: DownloadDestination(path))
            #expect(file.resumedFrom == 5000)
            #expect(contents(path) == Self.content)
            #expect(origin.ranges == [nil, "bytes=5000-", "bytes=5000-"])
            #expect(origin.requests.allSatisfy { $0.headerFields[.acceptEncoding] == "identity" })
            let stored = try await fixture.client.stored(endpoint)
            #expect(stored == nil)
        }
    }

    @Test func rejectionIsAnErrorAndKeepsThePart() async throws {
        try await run { fixture, origin, path in
            origin.change { $0.cuts = [5000] }
            _ = try? await fixture.client.download(endpoint, to: DownloadDestination(path))
            origin.change { $0.instead = [HTTPResponse(status: .notFound)] }
            await expect(.status) { _ = try await fixture.client.download(endpoint, to: DownloadDestination(path)) }
            #expect(contents(path + ".part")?.count == 5000)
            _ = try await fixture.client.download(endpoint, to: DownloadDestination(path))
            #expect(origin.ranges == [nil, "bytes=5000-", "bytes=5000-"])
        }
    }

    @Test func endpointLimitAppliesAndClientLimitDoesNot() async throws {
        try await run { fixture, _, path in
            let call = fixture.client.call(endpoint).with { $0.maximumBodyBytes = 999_999 }
            await expect(.bodyTooLarge) { _ = try await call.download(to: DownloadDestination(path)) }
            let left = try files(fixture)
            #expect(left.isEmpty)
        }
    }

    @Test func progressIncludesThePart() async throws {
        try await run { fixture, origin, path in
            origin.change { $0.cuts = [990_000] }
            _ = try? await fixture.client.download(endpoint, to: DownloadDestination(path))
            let heard = Events()
            _ = try await fixture.client.download(endpoint, to: DownloadDestination(path)) { progress in
                heard.append("\(progress.completed) of \(progress.total ?? 0)")
            }
            #expect(heard.all == ["1000000 of 1000000"])
        }
    }

    @Test func downloadIsStoredOnlyWithALifetime() async throws {
        try await run(fields: [.eTag: "\"one\"", .cacheControl: "max-age=60"]) { fixture, origin, path in
            _ = try await fixture.client.download(endpoint, to: DownloadDestination(path))
            var kept = endpoint
            kept.storage = .expiring(.after(.seconds(60)))
            for _ in 0..<2 {
                _ = try await fixture.client.download(kept, to: DownloadDestination(path, overwrites: true))
            }
            #expect(origin.requests.count == 2)
            #expect(contents(path) == Self.content)
        }
    }

    @Test func downloadEndsWithItsTimeout() async throws {
        try await run { fixture, origin, path in
            origin.change {
                $0.cuts = [5000]; $0.gate = HoldfastTesting.Gate()
            }
            let task = Task { [endpoint] in
                try await fixture.client.call(endpoint).with { $0.timeout = .seconds(1) }
                    .download(to: DownloadDestination(path))
            }
            while origin.requests.isEmpty, !Task.isCancelled { await Task.yield() }
            await fixture.sleeper.sleepers(atLeast: 1)
            fixture.sleeper.advance(by: .seconds(1))
            await expect(.timeout) { _ = try await task.value }
            #expect(contents(path) == nil)
        }
    }

    @Test func taskNamesTheFile() async throws {
        try await ClientFixture.run { fixture in
            let path = fixture.folder + "/film.bin"
            var endpoint = fixture.get("/bytes/1000")
            endpoint.task = .download(DownloadDestination(path))
            let file = try await fixture.client.download(endpoint)
            #expect(file.length == 1000 && FileManager.default.contents(atPath: path)?.count == 1000)
            await expect(.parametersMissing) { _ = try await fixture.client.download(fixture.get("/bytes/1")) }
        }
    }

    @Test func resumesAfterTheOriginCutsTheConnection() async throws {
        var configuration = CachingClient.Configuration()
        configuration.retry = RetryPlan(limit: 3, delay: .zero)
        try await ClientFixture.run(configuration) { fixture in
            let whole = try await fixture.client.fetch(fixture.get("/bytes/1000000"), as: Data.self, .networkOnly).value
            let path = fixture.folder + "/film.bin"
            let endpoint = fixture.get("/bytes/1000000?cut=300000&times=2&key=cut")
            let file = try await fixture.client.download(endpoint, to: DownloadDestination(path))
            #expect(FileManager.default.contents(atPath: path) == whole)
            #expect(file.head.status == .partialContent)
            #expect(fixture.origin.requests.count == 4)
            #expect(fixture.origin.requests.dropFirst(2).allSatisfy { $0["Range"] != nil && $0["If-Range"] != nil })
        }
    }

    @Test func changedContentIsRequestedWhole() async throws {
        var configuration = CachingClient.Configuration()
        configuration.retry = RetryPlan(limit: 3, delay: .zero)
        try await ClientFixture.run(configuration) { fixture in
            let path = fixture.folder + "/film.bin"
            let endpoint = fixture.get("/bytes/1000000?cut=300000&times=1&changes=1&key=changed")
            let file = try await fixture.client.download(endpoint, to: DownloadDestination(path))
            let other = try await fixture.client.fetch(fixture.get("/bytes/1000000?seed=1"), as: Data.self).value
            #expect(FileManager.default.contents(atPath: path) == other)
            #expect(file.head.status == .ok && file.resumedFrom == 0)
        }
    }

    @Test func anotherProcessResumesTheDownload() async throws {
        try await ClientFixture.run { fixture in
            let path = fixture.folder + "/film.bin"
            let endpoint = fixture.get("/bytes/1000000?cut=300000&key=process")
            await expect(.truncated) { _ = try await fixture.client.download(endpoint, to: DownloadDestination(path)) }
            try await fixture.client.close()
            // Only the files of the first process are left.
            let client = try await ClientFixture.open(fixture.folder, fixture.clock)
            let file = try await client.download(endpoint, to: DownloadDestination(path))
            #expect(file.resumedFrom > 0 && file.resumedFrom <= 300_000)
            let whole = try await client.fetch(fixture.get("/bytes/1000000"), as: Data.self).value
            #expect(FileManager.default.contents(atPath: path) == whole)
            try await client.close()
        }
    }

    @Test func cutConnectionLeavesNoPartialFile() async throws {
        try await ClientFixture.run { fixture in
            let path = fixture.folder + "/film.bin"
            let endpoint = fixture.get("/bytes/1000000")
            fixture.origin.force(.truncate(after: 700_000))
            await expect(.truncated) { _ = try await fixture.client.download(endpoint, to: DownloadDestination(path)) }
            #expect(!FileManager.default.fileExists(atPath: path))
            let whole = try await fixture.client.fetch(endpoint, as: Data.self, .networkOnly).value
            let file = try await fixture.client.download(endpoint, to: DownloadDestination(path))
            #expect(FileManager.default.contents(atPath: path) == whole)
            #expect(file.length == 1_000_000)
        }
    }
}
