import AsyncHTTPClient
import Dispatch
import Foundation
import Holdfast
import Logging
import NIOCore
import NIOHTTP1

/// Measures the request layer compared with plain AsyncHTTPClient, in one run, in turn.
///
/// ```
/// layer-benchmark [--check] [--quick]
///     [--only plain|network|store|memory|disk [--keys N] [--times N]]
/// layer-benchmark serve
/// ```
///
/// `serve` runs the server for both. With `--only` one measurement runs by itself, for a profile;
/// with `--port` it uses a server that runs already.
@main struct LayerBenchmark {
    struct Get: Endpoint {
        typealias Response = Content
        let baseURL: String
        let path: String
    }

    static func main() async throws {
        if CommandLine.arguments.contains("serve") { return try await Server.run() }
        let isQuick = CommandLine.arguments.contains("--quick")
        if let port = argument("--port"), let name = argument("--only") {
            return try await inFolder { folder in
                try await LayerBenchmark(port: port, folder: folder, isQuick: isQuick).alone(name)
            }
        }
        let server = Process()
        server.executableURL = Bundle.main.executableURL
        server.arguments = ["serve"]
        let (output, input) = (Pipe(), Pipe())
        server.standardOutput = output
        server.standardInput = input
        try server.run()
        // The server ends when its input ends.
        defer { try? input.fileHandleForWriting.close() }
        let port = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self).split(separator: "\n")[0]
        var missed: [String] = []
        try await inFolder { folder in
            let benchmark = LayerBenchmark(port: String(port), folder: folder, isQuick: isQuick)
            if let name = argument("--only") { return try await benchmark.alone(name) }
            missed = try await benchmark.compare()
        }
        guard CommandLine.arguments.contains("--check"), !missed.isEmpty else { return }
        let text = missed.map { "'\($0)' misses its limit.\n" }.joined()
        FileHandle.standardError.write(Data(text.utf8))
        // The server's input is closed with this process.
        exit(1)
    }

    /// Runs all measurements in turn and prints a table.
    ///
    /// - Returns: the names of the figures that miss their limits.
    private func compare() async throws -> [String] {
        let figures =
            try await network() + stored(memory: true) + stored(memory: false) + stored(memory: false, actor: true)
            + [waking()]
        print("| | µs | compared with | µs | | limit |\n|---|--:|---|--:|--:|--:|")
        for figure in figures { print(figure.row) }
        return figures.filter(\.isMissed).map(\.name)
    }

    private static func argument(_ name: String) -> String? {
        CommandLine.arguments.firstIndex(of: name).flatMap { CommandLine.arguments.dropFirst($0 + 1).first }
    }

    private let url: String
    private let folder: String
    private let requests: Int
    private let rounds: Int

    private init(port: String, folder: String, isQuick: Bool) {
        url = "http://127.0.0.1:\(port)"
        self.folder = folder
        requests = isQuick ? 200 : 5000
        rounds = isQuick ? 1 : 7
    }

    /// Runs `body` with a new folder, and removes the folder.
    private static func inFolder<Result>(_ body: (String) async throws -> Result) async throws -> Result {
        let folder = FileManager.default.temporaryDirectory.appending(path: "holdfast-layer-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        return try await body(folder.path)
    }

    struct Figure {
        var name: String
        var ours: Double
        var beside: String
        var theirs: Double
        /// The limit of `ours`, calculated from `theirs`.
        var limit: (name: String, value: Double)?
        var isDifference = false

        var isMissed: Bool { limit.map { (isDifference ? ours - theirs : ours / theirs) > $0.value } ?? false }
        var row: String {
            let relation =
                isDifference ? "+\(rounded(ours - theirs))" : "\((ours / theirs * 100).rounded() / 100) times"
            return
                "| \(name) | \(rounded(ours)) | \(beside) | \(rounded(theirs)) | \(relation) | \(limit?.name ?? "") |"
        }
    }

    private func open(_ name: String, memory: Bool = true) async throws -> CachingClient {
        var store = CacheManager.Configuration()
        if !memory { store.memoryBudget = 0 }
        return try await CachingClient.open(
            store: "\(folder)/\(name)",
            storeConfiguration: store,
            logger: Logger(label: "benchmark") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    /// Runs one measurement by itself.
    @concurrent private func alone(_ name: String) async throws {
        let client = try await open("alone", memory: name != "disk")
        let plain = HTTPClient(eventLoopGroupProvider: .singleton)
        let decoder = JSONDecoder()
        func fetch(_ path: String, _ strategy: SingleValueStrategy) async throws {
            _ = try await client.fetch(Get(baseURL: url, path: path), strategy)
        }
        let keys = Self.argument("--keys").flatMap(Int.init) ?? 100
        let times = Self.argument("--times").flatMap(Int.init) ?? requests * rounds
        for number in 0..<keys { try await fetch("/stored/\(number)", .standard) }
        let start = processorTime()
        let elapsed = try await time(times) {
            for number in 0..<times {
                switch name {
                case "plain":
                    let response = try await plain.execute(
                        HTTPClientRequest(url: url + "/plain"),
                        timeout: .seconds(30)
                    )
                    let body = try await response.body.collect(upTo: 1 << 20)
                    _ = try decoder.decode(Content.self, from: Data(body.readableBytesView))
                case "network": try await fetch("/plain", .networkOnly)
                case "store": try await fetch("/stored/\(number % 1000)", .networkOnly)
                case "memory", "disk": try await fetch("/stored/\(number % keys)", .storedFirst)
                default: fatalError("'--only' takes 'plain', 'network', 'store', 'memory' or 'disk'.")
                }
            }
        }
        let count = Double(times)
        print("\(name): \(rounded((processorTime() - start) / count)) µs of processor time, \(rounded(elapsed)) µs")
        try await plain.shutdown()
        try await client.close()
    }

    /// Measures the processor time of requests to the network, one after the other.
    private func network() async throws -> [Figure] {
        let client = try await open("network")
        let plain = HTTPClient(eventLoopGroupProvider: .singleton)
        let decoder = JSONDecoder()
        func ours(_ path: String) async throws {
            let content = try await client.fetch(Get(baseURL: url, path: path), .networkOnly)
            precondition(content.value.moments.count == 20 && content.source == .network)
        }
        func theirs() async throws {
            let response = try await plain.execute(HTTPClientRequest(url: url + "/plain"), timeout: .seconds(30))
            let body = try await response.body.collect(upTo: 1 << 20)
            precondition(response.status.code == 200)
            let content = try decoder.decode(Content.self, from: Data(body.readableBytesView))
            precondition(content.moments.count == 20)
        }
        var times: [String: [Double]] = [:]
        for round in 0...rounds {
            let one = try await processorTime(requests) { for _ in 0..<requests { try await theirs() } }
            let two = try await processorTime(requests) { for _ in 0..<requests { try await ours("/plain") } }
            let three = try await processorTime(requests) {
                for number in 0..<requests { try await ours("/stored/\(round)/\(number)") }
            }
            // The first round warms up.
            if round > 0 {
                for (name, time) in [("ahc", one), ("layer", two), ("stored", three)] {
                    times[name, default: []].append(time)
                }
            }
        }
        try await plain.shutdown()
        try await client.close()
        let base = (times["ahc"] ?? []).median
        return [
            Figure(
                name: "network only, processor time",
                ours: (times["layer"] ?? []).median,
                beside: "AsyncHTTPClient",
                theirs: base,
                limit: ("1.15 times", 1.15)
            ),
            Figure(
                name: "network only, the response stored",
                ours: (times["stored"] ?? []).median,
                beside: "AsyncHTTPClient",
                theirs: base
            ),
        ]
    }

    /// Measures the cost of doing nothing on another thread. A response from disk has this cost
    /// too, because it does not block a calling actor.
    @MainActor private func waking() async -> Figure {
        func nothing() async {
            await withCheckedContinuation { continuation in DispatchQueue.global().async { continuation.resume() } }
        }
        var times: [Double] = []
        for round in 0...rounds {
            let one = await time(requests) { for _ in 0..<requests { await nothing() } }
            if round > 0 { times.append(one) }
        }
        return Figure(
            name: "to a thread of the pool and back",
            ours: times.median,
            beside: "",
            theirs: 0,
            isDifference: true
        )
    }

    /// Measures the cost of a stored value for the caller beyond decoding it. The caller is a task
    /// without an actor, like those that serve a service's requests.
    @concurrent
    private func stored(memory: Bool) async throws -> [Figure] {
        try await stored(
            memory: memory,
            "stored first, from \(memory ? "memory, decoded before" : "disk")",
            isLimited: true
        )
    }

    /// The same for an actor, which is not blocked while a disk is read.
    @MainActor
    private func stored(memory: Bool, actor: Bool) async throws -> [Figure] {
        try await stored(memory: memory, "stored first, from disk, for an actor", isLimited: false)
    }

    private func stored(memory: Bool, _ name: String, isLimited: Bool) async throws -> [Figure] {
        let keys = min(requests, 1000)
        let client = try await open(name, memory: memory)
        let endpoints = (0..<keys).map { Get(baseURL: url, path: "/stored/\($0)") }
        for endpoint in endpoints { _ = try await client.fetch(endpoint) }
        // The decoder's cost is measured with the same decoder on the same bytes.
        let (decoder, bytes) = (JSONDecoder(), Data(Content.json.utf8))
        var (ours, decoding): ([Double], [Double]) = ([], [])
        for round in 0...rounds {
            let one = try await time(keys) {
                for _ in 0..<keys {
                    let content = try decoder.decode(Content.self, from: bytes)
                    precondition(content.moments.count == 20)
                }
            }
            let two = try await time(keys) {
                for endpoint in endpoints {
                    let emission = try await client.fetch(endpoint, .storedFirst)
                    precondition(emission.source == .store && emission.value.moments.count == 20)
                }
            }
            if round > 0 {
                decoding.append(one)
                ours.append(two)
            }
        }
        try await client.close()
        return [
            Figure(
                name: name,
                ours: ours.median,
                beside: "decoding alone",
                theirs: memory ? 0 : decoding.median,
                limit: isLimited ? memory ? ("10 µs", 10) : ("50 µs more", 50) : nil,
                isDifference: true
            )
        ]
    }
}
