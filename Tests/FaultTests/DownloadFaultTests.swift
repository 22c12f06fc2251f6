import FaultWorkload
import SampleOrigin
import TestSupport
import Testing

@testable import Holdfast

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A download that a killed process, a full disk or a power cut interrupted. No partial file is in
/// the file's place, and a later download completes it.
@Suite(.timeLimit(.minutes(20))) struct DownloadFaultTests {
    private struct Film: Endpoint {
        let baseURL: String
        let path = ""
    }

    /// A folder for a download, an origin, and the expected file.
    private struct Bench {
        let folder: TemporaryFolder
        let url: String
        let whole: [UInt8]
        let client: CachingClient
        var file: String { folder.path + "/files/film" }
        /// The content of the file; `nil` if there is none.
        var content: [UInt8]? { try? readFile(file) }

        /// Runs the worker, which ends by a fault or by `judge`.
        func work(
            _ mode: String,
            _ error: Int32 = 0,
            at: Int = 0,
            until judge: @escaping @Sendable (Int) -> Int? = { _ in nil }
        ) async throws -> WorkerProcess.Ending {
            try await WorkerProcess("download", folder.path, url, mode, "\(error)", "\(at)").run(until: judge)
        }

        /// Resumes the download in this process, where nothing fails.
        func resume() async throws -> DownloadedFile {
            try await client.download(Film(baseURL: url), to: DownloadDestination(file))
        }

        /// Expects only the complete file.
        func expectWhole(_ context: String) {
            // Megabytes must not be printed.
            let isWhole = content == whole
            #expect(isWhole, "\(context)")
            #expect(TemporaryFolder.names(folder.path + "/files") == ["film"], "\(context)")
        }

        func clear() {
            for name in TemporaryFolder.names(folder.path + "/files") { unlink(folder.path + "/files/" + name) }
        }
    }

    private func run(bytes: Int, _ body: (Bench) async throws -> Void) async throws {
        let folder = try TemporaryFolder(inMemory: true)
        try await SampleOrigin.withOrigin(OriginConfiguration()) { origin in
            let url = "\(origin.baseURL)/bytes/\(bytes)"
            let client = try await CachingClient.open(store: folder.path + "/own")
            let whole = Array(try await client.fetch(Film(baseURL: url), .networkOnly).value)
            let bench = Bench(folder: folder, url: url, whole: whole, client: client)
            mkdir(folder.path + "/files", 0o700)
            do { try await body(bench) } catch {
                try await client.close()
                throw error
            }
            try await client.close()
        }
    }

    // SIGKILL in the middle, again and again, until one attempt completes.
    @Test func downloadResumesAfterAKilledProcess() async throws {
        try await run(bytes: 6_000_000) { bench in
            var resumed: Set<String> = []
            for round in 1...5 {
                let ending = try await bench.work("none") { $0 >= 20 ? round * 100 : nil }
                #expect(ending.signal == SIGKILL && bench.content == nil)
                resumed.insert(ending.lines.first { $0.hasPrefix("progress") } ?? "")
            }
            let file = try await bench.resume()
            #expect(file.resumedFrom > 0 && file.length == 6_000_000)
            // Each attempt resumed where the one before had stopped.
            #expect(resumed.count > 1)
            bench.expectWhole("killed")
        }
    }

    #if os(Linux)
        /// A kind of fault, with its error.
        enum Fault: String, CaseIterable {
            case kill, torn, cut, full, broken

            var words: (mode: String, error: Int32) {
                switch self {
                case .kill, .torn, .cut: (rawValue, 0)
                case .full: ("error", ENOSPC)
                case .broken: ("error", EIO)
                }
            }
        }

        // At each of its file operations.
        @Test(arguments: Fault.allCases) func faultAtAnyFileOperationLeavesNoPartialFile(_ fault: Fault) async throws {
            try await run(bytes: 700_000) { bench in
                var at = 1
                var isOver = false
                while !isOver {
                    let context = "\(fault) at file operation \(at)"
                    let ending = try await bench.work(fault.words.mode, fault.words.error, at: at)
                    isOver = ending.lines.contains { $0.hasPrefix("done") }
                    let isWholeOrAbsent = bench.content.map { $0 == bench.whole } ?? true
                    #expect(isWholeOrAbsent, "\(context)")
                    switch fault {
                    case .full, .broken:
                        #expect(
                            isOver || ending.lines.contains("failed fileFailed"),
                            "\(context): \(ending.lines.suffix(2))"
                        )
                    case .kill, .torn: #expect(isOver || ending.signal == SIGKILL, "\(context)")
                    case .cut: #expect(isOver || ending.status == 77, "\(context)")
                    }
                    if bench.content == nil {
                        // After a power cut, the machine counts as rebooted.
                        let boot = fault == .cut ? "another" : BootIdentity.current
                        _ = try await BootIdentity.$current.withValue(boot) { try await bench.resume() }
                        bench.expectWhole(context)
                    }
                    bench.clear()
                    at += Scale.isThorough ? 1 : 2
                }
                #expect(at > 12)
            }
        }

        // Bytes that were written but not synced may be anything afterwards; the download resumes
        // after the synced ones.
        @Test func powerCutLosesOnlyUnsyncedBytes() async throws {
            let (length, synced) = (PartFile.syncDistance + 3_000_000, PartFile.syncDistance)
            try await run(bytes: Int(length)) { bench in
                let calls = try #require(
                    try await bench.work("none").lines.last { $0.hasPrefix("calls") }.flatMap { Int($0.dropFirst(6)) }
                )
                bench.clear()
                // Some operations before the last: sync, link, removals.
                let ending = try await bench.work("cut", at: calls - 12)
                #expect(ending.status == 77 && bench.content == nil)
                let file = try await BootIdentity.$current.withValue("another") { try await bench.resume() }
                #expect(file.resumedFrom >= synced && file.resumedFrom < length)
                bench.expectWhole("cut")
            }
        }

        // On a full file system, the part is kept, and the download resumes when there is space.
        @Test(.enabled(if: SmallDisk.isPossible, "this process may not mount a file system"))
        func fullDiskIsAnErrorAndTheDownloadResumesLater() async throws {
            try await run(bytes: 6_000_000) { bench in
                let disk = try #require(SmallDisk(in: bench.folder.path))
                let file = disk.path + "/film"
                func download() async throws -> DownloadedFile {
                    try await bench.client.download(Film(baseURL: bench.url), to: DownloadDestination(file))
                }
                // There is space for a part of it.
                try writeFile(disk.path + "/large", [UInt8](repeating: 1, count: 4 << 20))
                let error = await #expect(throws: HoldfastError.self) { try await download() }
                #expect(error?.code == .fileFailed && error?.message.contains("disk is full") == true)
                #expect(TemporaryFolder.names(disk.path) == ["film.part", "film.part.json", "large"])
                unlink(disk.path + "/large")
                let downloaded = try await download()
                #expect(downloaded.resumedFrom > 1_000_000)
                let isWhole = try readFile(file) == bench.whole
                #expect(isWhole)
                unlink(file)
                // There is no space at all.
                disk.fill()
                await #expect(throws: HoldfastError.self) { try await download() }
                #expect(TemporaryFolder.names(disk.path).contains("film") == false)
                disk.free()
                _ = try await download()
                let isWholeAgain = try readFile(file) == bench.whole
                #expect(isWholeAgain)
                #expect(TemporaryFolder.names(disk.path) == ["film"])
            }
        }
    #endif
}
