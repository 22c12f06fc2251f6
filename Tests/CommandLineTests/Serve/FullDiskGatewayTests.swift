import FaultWorkload
import Foundation
import SampleOrigin
import Testing

#if os(Linux)
    /// The built gateway with its store on a full disk, and what it tells its operator.
    @Suite(
        .timeLimit(.minutes(20)),
        .enabled(if: Tool.hasCurl && SmallDisk.isPossible, "needs /usr/bin/curl, and the right to mount")
    )
    struct FullDiskGatewayTests {
        /// A folder on a small disk, with the configuration and the store of a gateway that stored
        /// one response and ended. Then the disk is full.
        private func withFullDisk(_ body: (PurgedGateway.Folder, SmallDisk) async throws -> Void) async throws {
            try await PurgedGateway.Folder.with { outer in
                let disk = try #require(SmallDisk(in: outer.path))
                let folder = PurgedGateway.Folder(path: disk.path)
                try await SampleOrigin.withOrigin { origin in
                    try folder.write(origin)
                    origin.respond("v1")
                    try await PurgedGateway.with(folder) { try await $0.warm([PurgedGateway.Target(path: "/a")]) }
                    disk.fill()
                    try await body(folder, disk)
                }
            }
        }

        /// Runs the gateway, whose log the body reads from the start.
        private func run(
            _ folder: PurgedGateway.Folder,
            _ body: (PurgedGateway, OutputReader) async throws -> Void
        ) async throws {
            let environment = ["RUNTIME_DIRECTORY": ""]
            _ = try await RunningServer.with(["--config", folder.file], environment: environment) { server in
                try await body(PurgedGateway(folder: folder, server: server), server.log)
                server.signal(SIGTERM)
            }
        }

        /// Mutant: `purge-in-memory-succeeds`.
        @Test func purgeThatIsNotOnDiskIsReported() async throws {
            try await withFullDisk { folder, disk in
                try await run(folder) { gateway, log in
                    #expect(await log.line(containing: "the store's disk is full").contains("free some space"))
                    _ = await log.line(containing: "controlled by")
                    let status = try await gateway.run(["status"])
                    #expect(status.lines.first?.hasPrefix("Serving. The disk is full; ") == true, "\(status)")
                    let ready = try await gateway.curl("/readyz")
                    #expect(ready.status == 200 && ready.text.contains("the disk is full"), "\(ready.text)")
                    let json = try await gateway.purge(["--tag", "none", "--format", "json"])
                    let result = try #require(try json.objects().first)
                    #expect(json.status == 3 && result["durable"] as? Bool == false, "\(json)")
                    let purge = try await gateway.purge(["--all", "--remove"])
                    #expect(purge.status == 3 && purge.text.hasPrefix("Removed 1 response, "), "\(purge)")
                    #expect(purge.text.contains(" In force, but not on disk, which is full"), "\(purge)")
                    gateway.server.signal(SIGTERM)
                    let end = await log.line(containing: "repeat the purges")
                    #expect(end.contains("store.invalidations.unwritten=2"), "\(end)")
                    #expect(end.contains("store.removals.unwritten=1"), "\(end)")
                }
                disk.free()
                try await run(folder) { gateway, log in
                    let start = await log.line(containing: "repeat purges that removed responses")
                    #expect(start.contains("store.invalidations.lost=2"), "\(start)")
                    _ = await log.line(containing: "controlled by")
                    let purge = try await gateway.purge(["--all", "--remove"])
                    #expect(purge.status == 0 && purge.text.hasPrefix("Removed 1 response, "), "\(purge)")
                    #expect(!purge.text.contains("not on disk"), "\(purge)")
                }
            }
        }

        /// The purge would end with the command.
        @Test func purgeOfAClosedStoreFails() async throws {
            try await withFullDisk { folder, disk in
                let purge = try await folder.purge(["--all", "--remove"])
                #expect(purge.status == 1 && purge.output.isEmpty, "\(purge)")
                #expect(purge.error.contains("Free some space"), "\(purge)")
                disk.free()
                #expect(try await folder.purge(["--all", "--remove"]).status == 0)
            }
        }
    }
#endif
