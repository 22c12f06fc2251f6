import Foundation
import OfflineStore
import SampleOrigin
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20))) struct HoldfastGetTests {
    private static let holdfast = Tool("holdfast")

    /// An origin in this process, and a folder for a store.
    private func withOrigin(_ body: (RunningOrigin, String) async throws -> Void) async throws {
        try await TemporaryFolder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                try await body(origin, folder.appendingPathComponent("a.store").path)
            }
        }
    }

    @Test func twoProcessesShareStoredResponses() async throws {
        try await withOrigin { origin, store in
            let url = origin.url("/moments?userID=harbour&page=1")
            let first = try await Self.holdfast.run("get", url, "--store", store)
            #expect(first.status == 0 && first.text.contains("harbour-25"))
            #expect(first.error.contains("response source=network status=200 "), "\(first)")
            #expect(first.error.contains("fwd=uri-miss; stored"), "\(first)")
            let second = try await Self.holdfast.run("get", url, "--store", store)
            #expect(second.status == 0 && second.output == first.output)
            #expect(second.error.contains("source=store") && second.error.contains("holdfast; hit"))
            #expect(origin.requestCount == 1)
            await origin.stop()
            for arguments in [
                ["--offline"], ["--strategy", "network-first"], ["--strategy", "stored-only"],
                ["--strategy", "start-with", "--offline"],
            ] {
                let offline = try await Self.holdfast.run(arguments: ["get", url, "--store", store] + arguments)
                #expect(offline.status == 0 && offline.output == first.output, "\(arguments): \(offline.error)")
            }
        }
    }

    @Test func startWithPrintsUnchangedBodyOnce() async throws {
        try await withOrigin { origin, store in
            let url = origin.url("/moments?userID=harbour")
            let get = ["get", url, "--store", store, "--strategy", "start-with"]
            let first = try await Self.holdfast.run(arguments: get)
            let second = try await Self.holdfast.run(arguments: get)
            #expect(second.output == first.output)
            #expect(second.error.contains("source=store") && second.error.contains("fwd-status=304"))
            origin.force(.respond(fields: [("Cache-Control", "max-age=60")], body: "changed"))
            let third = try await Self.holdfast.run(arguments: get)
            #expect(third.text == first.text + "changed")
        }
    }

    @Test func withoutBodyEndsWithStatusOneAndReason() async throws {
        try await withOrigin { origin, store in
            let url = origin.url("/moments?userID=harbour&token=hunter2")
            let none = try await Self.holdfast.run("get", url, "--store", store, "--offline")
            #expect(none.status == 1 && none.error.contains(store))
            #expect(!FileManager.default.fileExists(atPath: store))
            #expect(origin.acceptedConnections == 0)
            _ = try await Self.holdfast.run("get", origin.url("/html"), "--store", store)
            let connections = origin.acceptedConnections
            let miss = try await Self.holdfast.run("get", url, "--store", store, "--offline")
            #expect(miss.status == 1 && miss.output.isEmpty)
            #expect(miss.error.contains("No usable response is stored") && !miss.error.contains("hunter2"))
            #expect(origin.acceptedConnections == connections)
            let broken = try await Self.holdfast.run(
                "get",
                origin.url("/truncated?announced=100000&sent=10"),
                "--store",
                store
            )
            #expect(broken.status == 1)
            await origin.stop()
            let gone = try await Self.holdfast.run("get", url, "--store", store)
            #expect(gone.status == 1 && !gone.error.contains("hunter2"))
            let words = "'http://\(origin.authority)' refused the connection. Check whether"
            #expect(gone.error.contains(words), "\(gone.error)")
        }
    }

    @Test(arguments: [
        ["get"], ["get", "nonsense", "--store", "x"], ["get", "http://a.example/"],
        ["get", "http://u:p@a.example/", "--store", "x"],
        ["get", "http://a.example/", "--store", "x", "--strategy", "guess"],
        ["get", "http://a.example/", "--store", "x", "--header", "no colon"],
        ["get", "http://a.example/", "--store", "x", "--header", "A: b\r\nC: d"], ["fetch"],
        ["get", "http://a.example/", "--store", "x", "--header", "host: b.example"],
        ["get", "http://a.example/", "--store", "x", "--offline", "--strategy", "network-only"],
    ])
    func wrongCommandLineIs64(arguments: [String]) async throws {
        let outcome = try await Self.holdfast.run(arguments: arguments)
        #expect(outcome.status == 64 && outcome.output.isEmpty && !outcome.error.isEmpty)
    }

    @Test func missOfARouteNamesTheURLThatIsNeeded() async throws {
        try await withOrigin { origin, store in
            _ = try await Self.holdfast.run("get", origin.url("/html"), "--store", store)
            let file = store + ".yaml"
            let text = "version: 1\nstore: {path: a.store}\nroutes: [{origin: \"\(origin.baseURL)\"}]\n"
            try Data(text.utf8).write(to: URL(fileURLWithPath: file))
            let miss = try await Self.holdfast.run("get", "http://gateway.test/html", "--config", file, "--offline")
            let words = "'get' uses no 'routes': the URL must be that of the origin."
            #expect(miss.status == 1 && miss.error.contains(words), "\(miss.error)")
        }
    }

    @Test func hostWithoutAnAddressIsNamedWithTheNextStep() async throws {
        try await withOrigin { _, store in
            let outcome = try await Self.holdfast.run("get", "http://no-such-host.invalid/", "--store", store)
            let words = "'http://no-such-host.invalid'. Check the URL and this machine's DNS."
            #expect(outcome.status == 1 && outcome.error.contains(words), "\(outcome.error)")
        }
    }

    @Test func leavesFolderThatIsNotAStore() async throws {
        try await TemporaryFolder.with { folder in
            let file = folder.appendingPathComponent("letter.txt")
            try Data("dear".utf8).write(to: file)
            let outcome = try await Self.holdfast.run("get", "http://127.0.0.1:1/", "--store", folder.path)
            #expect(outcome.status == 1 && outcome.error.contains(folder.path))
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["letter.txt"])
        }
    }

    @Test func sendsFieldsAndSeparatesByCredentials() async throws {
        try await withOrigin { origin, store in
            let url = origin.url("/private")
            for (token, expected) in [("alice", 1), ("bob", 2), ("alice", 2)] {
                _ = try await Self.holdfast.run(
                    "get",
                    url,
                    "--store",
                    store,
                    "--header",
                    "Authorization: Bearer \(token)"
                )
                #expect(origin.requestCount == expected)
            }
            #expect(origin.requests.map { $0["authorization"] } == ["Bearer alice", "Bearer bob"])
        }
    }

    @Test func offlineReadsStoreOfAnotherWriter() async throws {
        try await withOrigin { origin, store in
            let url = origin.url("/moments?userID=harbour")
            let first = try await Self.holdfast.run("get", url, "--store", store)
            let writer = try await CacheManager.open(at: store)
            let offline = try await Self.holdfast.run("get", url, "--store", store, "--offline")
            #expect(offline.status == 0 && offline.output == first.output)
            let second = try await Self.holdfast.run("get", url, "--store", store)
            #expect(second.status == 1 && second.error.contains("\(ProcessInfo.processInfo.processIdentifier)"))
            try await writer.close()
        }
    }

    @Test func startWithUsesNetworkIfStoredIsUnusable() async throws {
        try await withOrigin { origin, store in
            let get = ["get", origin.url("/no-cache"), "--store", store, "--strategy", "start-with"]
            for count in 1...2 {
                let outcome = try await Self.holdfast.run(arguments: get)
                #expect(outcome.status == 0 && !outcome.output.isEmpty && origin.requestCount == count)
            }
        }
    }

    @Test func startWithDeliversStoredWhenOriginIsUnreachable() async throws {
        try await withOrigin { origin, store in
            let get = ["get", origin.url("/moments?userID=harbour"), "--store", store, "--strategy", "start-with"]
            let first = try await Self.holdfast.run(arguments: get)
            await origin.stop()
            let second = try await Self.holdfast.run(arguments: get)
            #expect(second.status == 0 && second.output == first.output)
            #expect(second.error.contains(origin.authority), "\(second.error)")
        }
    }

    @Test func helpExplainsEveryOption() async throws {
        let outcome = try await Self.holdfast.run("get", "--help")
        #expect(outcome.status == 0)
        for text in ["--store", "--offline", "--strategy", "start-with", "--header", "stderr", "exit status"] {
            #expect(outcome.text.contains(text), "\(text)")
        }
    }

    /// docs/architecture.md, "The key": dictionaries never leak their order.
    @Test func sameRequestHasSameKeyInEveryProcess() async throws {
        var keys: Set<[String]> = []
        var orders: Set<String> = []
        for _ in 0..<5 {
            let lines = try await Tool("key-probe").run().lines
            let found = lines.filter { $0.hasPrefix("key: ") && $0.count > 5 }
            #expect(found.count == 6 && Set(found).count == 6)
            keys.insert(found)
            orders.insert(try #require(lines.first { $0.hasPrefix("order: ") }))
        }
        #expect(keys.count == 1)
        #expect(keys.first?.first.map { $0.count > 1000 } == true)
        // If all five processes ordered the parameters alike, this test would prove nothing.
        #expect(orders.count > 1)
    }

    @Test func killedProcessLeavesUsableStore() async throws {
        try await withOrigin { origin, store in
            let kept = origin.url("/bytes/100000?seed=1")
            let body = try await Self.holdfast.run("get", kept, "--store", store).output
            let gate = Gate()
            origin.force(.holdBody(after: 5_000_000, gate), path: "/bytes/9000000")
            let null = FileHandle.nullDevice.fileDescriptor
            let process = try ChildProcess(
                Self.holdfast.url,
                ["get", origin.url("/bytes/9000000"), "--store", store],
                output: null,
                error: null
            )
            let ending = try await process.end {
                while origin.requestCount < 2, !Task.isCancelled { await Task.yield() }
                kill(process.identifier, SIGKILL)
            }
            #expect(ending.wasKilled)
            gate.open()
            let offline = try await Self.holdfast.run("get", kept, "--store", store, "--offline")
            #expect(offline.status == 0 && offline.output == body)
            let half = try await Self.holdfast.run("get", origin.url("/bytes/9000000"), "--store", store, "--offline")
            #expect(half.status == 1 && half.output.isEmpty)
        }
    }
}
