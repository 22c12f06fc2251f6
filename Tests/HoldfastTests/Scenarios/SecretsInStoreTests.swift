import Foundation
import HTTPCache
import Holdfast
import HoldfastTesting
import Logging
import NIOCore
import TestSupport
import Testing

/// A value that a caller names as a secret is in none of a store's files.
@Suite(.timeLimit(.minutes(20))) struct SecretsInStoreTests {
    /// Responds to all requests alike, with every field that makes a store keep more of a request.
    private struct Origin: Transport {
        func send(_ request: TransportRequest) async throws -> TransportResponse {
            let fields: HTTPFields = [
                .cacheControl: "max-age=60", .vary: "X-Signed-By, Accept-Language", .eTag: "\"1\"",
                .location: "/made?page=1",
            ]
            return TransportResponse(
                head: HTTPResponse(status: request.head.method == .get ? .ok : .created, headerFields: fields),
                body: BodyStream(ByteBuffer(string: "content"))
            )
        }
    }

    private static func bytes(of folder: String) throws -> [Data] {
        let names = try FileManager.default.subpathsOfDirectory(atPath: folder)
        return names.compactMap { FileManager.default.contents(atPath: folder + "/" + $0) }
    }

    /// A query that contains the secret in one of several spellings.
    private static func query(_ secret: String, _ random: inout SeededRandom) -> String {
        let name = ["appid", "%61ppid", "appi%64"][Int.random(in: 0..<3, using: &random)]
        let plain = ["page=1", "q=%7Cx", "", "lang=de", "a=b=c", "appid="]
        var pieces = (0..<Int.random(in: 0...3, using: &random)).map { _ in
            plain[Int.random(in: 0..<plain.count, using: &random)]
        }
        let separators = ["&", ";", "%26", "%3B", "%2526", "?"]
        let separator = separators[Int.random(in: 0..<separators.count, using: &random)]
        let hiding = Bool.random(using: &random) ? "x=1\(separator)" : ""
        let following = Bool.random(using: &random) ? "\(separator)y=2" : ""
        pieces.insert("\(hiding)\(name)=\(secret)\(following)", at: Int.random(in: 0...pieces.count, using: &random))
        return pieces.joined(separator: "&")
    }

    @Test(arguments: [UInt64(1), 2, 3]) func secretIsInNoFile(seed: UInt64) async throws {
        var random = SeededRandom(seed: seed)
        let folder = try TemporaryFolder()
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let manager = try await CacheManager.open(at: folder.store, clock: ManualClock(), logger: logger)
        let engine = CacheEngine(
            store: manager.responses,
            transport: Origin(),
            credentialSecret: [UInt8](repeating: 7, count: 32),
            parts: .init(clock: ManualClock()),
            logger: logger
        )
        let secret = "s3cr3t\(random.next())"
        let field = try #require(HTTPField.Name("X-Signed-By"))
        for index in 0..<60 {
            var head = HTTPRequest(
                method: index % 5 == 4 ? .post : .get,
                scheme: "https",
                authority: "a.example",
                path: "/visible-path?" + Self.query(secret, &random)
            )
            if Bool.random(using: &random) { head.headerFields[field] = "Token " + secret }
            var request = CacheRequest(head: head, principal: Bool.random(using: &random) ? "somebody" : nil)
            request.secretParameters = ["appid"]
            request.secretFields = [field]
            _ = try await engine.respond(to: request).body.collect(upTo: 100)
        }
        await engine.shutDown()
        try await manager.close()
        let files = try Self.bytes(of: folder.store)
        #expect(files.contains { $0.range(of: Data("/visible-path".utf8)) != nil }, "seed \(seed): nothing is stored")
        for file in files { #expect(file.range(of: Data(secret.utf8)) == nil, "seed \(seed)") }
    }
}
