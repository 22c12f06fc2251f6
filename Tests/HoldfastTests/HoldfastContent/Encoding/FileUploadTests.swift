import Crypto
import Foundation
import HTTPCache
import HTTPCacheSemantics
import Holdfast
import NIOCore
import SampleOrigin
import TestSupport
import Testing

@testable import Holdfast
@testable import HoldfastContent

/// Files as content and as parts of it: they are read while they are sent, and their length is
/// announced.
@Suite(.timeLimit(.minutes(20))) struct FileUploadTests {
    /// A temporary folder for one test.
    private struct Folder {
        let path: String

        static func with<Result>(_ body: (Folder) async throws -> Result) async throws -> Result {
            try await TemporaryFolder.with { try await body(Folder(path: $0.path)) }
        }

        func write(_ bytes: [UInt8], to name: String) throws -> String {
            let file = "\(path)/\(name)"
            try Data(bytes).write(to: URL(filePath: file))
            return file
        }
    }

    private static func bytes(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) } }

    @Test(arguments: [0, 1, FileContent.chunkSize - 1, FileContent.chunkSize, 3 * FileContent.chunkSize + 7])
    func fileIsReadInChunksAndCanBeReadAgain(length: Int) async throws {
        try await Folder.with { folder in
            let body = try FileContent(path: try folder.write(Self.bytes(length), to: "a")).body()
            #expect(body.length == StatedLength(clamping: length))
            for _ in 0..<2 {
                var read: [UInt8] = []
                for try await chunk in body {
                    #expect(1...FileContent.chunkSize ~= chunk.readableBytes)
                    read += chunk.readableBytesView
                }
                #expect(read == Self.bytes(length))
            }
        }
    }

    @Test func missingFileIsAnErrorBeforeAnythingIsSent() async throws {
        try await Folder.with { folder in
            for path in ["\(folder.path)/none", folder.path, ""] {
                await expect(.encodingFailed) {
                    _ = try PathEndpoint(baseURL: "https://a.example", path: "/", task: .file(path))
                        .request(defaults: .init())
                }
            }
        }
    }

    /// The changes to a file between two chunks.
    enum Change: CaseIterable, Sendable { case grown, cut, rewritten, replaced }

    @Test(arguments: Change.allCases)
    func changedFileEndsTheRequest(change: Change) async throws {
        try await Folder.with { folder in
            let length = 2 * FileContent.chunkSize
            let path = try folder.write(Self.bytes(length), to: "a")
            let body = try FileContent(path: path).body()
            var iterator = body.makeAsyncIterator()
            var received = 0
            // A file that is replaced under its name stays the one that was opened. Opening it
            // again gives the new one.
            if change != .replaced { received = try await iterator.next()?.readableBytes ?? 0 }
            switch change {
            case .grown:
                let file = try FileHandle(forWritingTo: URL(filePath: path))
                try file.seekToEnd()
                try file.write(contentsOf: Data([1]))
                try file.close()
            case .cut:
                let file = try FileHandle(forWritingTo: URL(filePath: path))
                try file.truncate(atOffset: UInt64(length - 1))
                try file.close()
            case .rewritten, .replaced:
                try FileManager.default.setAttributes(
                    [.modificationDate: Date(timeIntervalSince1970: 1)],
                    ofItemAtPath: path
                )
            }
            let error = await #expect(throws: TransportError.self) {
                while let chunk = try await iterator.next() { received += chunk.readableBytes }
            }
            #expect(error?.code == .invalidRequest && error?.code.isUnreachable == false)
            #expect(received < length)
        }
    }

    @Test(arguments: [0, FileContent.chunkSize - 20, FileContent.chunkSize - 1, FileContent.chunkSize + 5])
    func fileCannotEndItsPart(offset: Int) async throws {
        try await Folder.with { folder in
            // Parts with the same names and lengths have the same boundary, whatever the file
            // contains.
            let length = FileContent.chunkSize * 2
            let path = try folder.write(Self.bytes(length), to: "a.bin")
            let multipart: Multipart = [.text("x", name: "title"), .file(path, name: "file")]
            let type = try multipart.encoded().contentType
            let boundary = try #require(type.split(separator: "=").last)
            var bytes = Self.bytes(length)
            let forged = Array("--\(boundary)\r\nContent-Disposition: form-data; name=\"role\"\r\n\r\nadmin".utf8)
            bytes.replaceSubrange(offset..<(offset + forged.count), with: forged)
            _ = try folder.write(bytes, to: "a.bin")
            let (body, again) = try multipart.encoded()
            #expect(again == type)
            guard case .stream(let stream) = body else { throw BodyStreamError.alreadyRead }
            var sent: [UInt8] = []
            let error = await #expect(throws: TransportError.self) {
                for try await chunk in stream { sent += chunk.readableBytesView }
            }
            #expect(error?.message.contains("boundary") == true)
            let delimiter = Array("--\(boundary)".utf8)
            let second = sent.indices.dropFirst().filter {
                sent[$0] == delimiter[0] && sent[$0...].starts(with: delimiter)
            }
            #expect(second.count == 1)  // The one before the file, and none of the file's.
        }
    }

    @Test func filesAndFieldsAreReadBackAndTheLengthIsKnown() async throws {
        try await Folder.with { folder in
            let photo = try folder.write(Self.bytes(FileContent.chunkSize + 99), to: "boat \"é\".jpg")
            let empty = try folder.write([], to: "empty")
            let multipart: Multipart = [
                .file(photo, name: "photo"), .text("At the harbour", name: "title"),
                .file(empty, name: "note", fileName: "n.md"),
            ]
            for _ in 0..<2 {
                let (body, type) = try multipart.encoded()
                guard case .stream(let stream) = body else { throw BodyStreamError.alreadyRead }
                let content = Array(try await stream.collect(upTo: 1 << 20).readableBytesView)
                #expect(stream.length == StatedLength(clamping: content.count))
                #expect(
                    MultipartReader.parts(of: content, contentType: type) == [
                        .init(
                            name: "photo",
                            fileName: "boat %22é%22.jpg",
                            contentType: "image/jpeg",
                            content: Self.bytes(FileContent.chunkSize + 99)
                        ),
                        .init(name: "title", content: Array("At the harbour".utf8)),
                        .init(name: "note", fileName: "n.md", contentType: "text/markdown", content: []),
                    ]
                )
            }
        }
    }

    private struct Echo: Decodable, Sendable {
        struct Body: Decodable, Sendable { var length: Int, sha256: String }
        var method: String, target: String, fields: [[String]], body: Body
        func field(_ name: String) -> String? { fields.first { $0.first?.lowercased() == name }?.last }
    }

    private struct Upload: Endpoint {
        typealias Response = Echo
        let baseURL: String
        let path = "/echo"
        var method: HTTPRequest.Method
        var task: HTTPTask
    }

    @Test(.timeLimit(.minutes(20))) func uploadArrivesWithItsLength() async throws {
        try await Folder.with { folder in
            let bytes = Self.bytes(5 * FileContent.chunkSize + 3)
            let path = try folder.write(bytes, to: "a.png")
            try await ClientFixture.run { fixture in
                for method in [HTTPRequest.Method.put, .post] {
                    let file = Upload(
                        baseURL: fixture.origin.baseURL,
                        method: method,
                        task: .file(path, parameters: ["album": "a b"])
                    )
                    let echo = try await fixture.client.fetch(file).value
                    #expect(echo.method == method.rawValue && echo.target == "/echo?album=a%20b")
                    #expect(echo.body.sha256 == SHA256.hash(data: bytes).hexadecimal)
                    #expect(echo.field("content-length") == "\(bytes.count)")
                    #expect(echo.field("content-type") == "image/png")
                    #expect(echo.field("transfer-encoding") == nil)
                }
                let multipart: Multipart = [.text("x", name: "title"), .file(path, name: "photo")]
                guard case .stream(let stream) = try multipart.encoded().body else { throw BodyStreamError.alreadyRead }
                let whole = Array(try await stream.collect(upTo: 1 << 22).readableBytesView)
                let echo = try await fixture.client.fetch(
                    Upload(baseURL: fixture.origin.baseURL, method: .post, task: .multipart(multipart))
                ).value
                #expect(echo.body.sha256 == SHA256.hash(data: whole).hexadecimal)
                #expect(echo.field("content-length") == "\(whole.count)")
            }
        }
    }

    @Test(.timeLimit(.minutes(20))) func changedFileFailsTheRequestAndNotTheOrigin() async throws {
        try await Folder.with { folder in
            let path = try folder.write(Self.bytes(9), to: "a.png")
            try await ClientFixture.run { fixture in
                let upload = Upload(baseURL: fixture.origin.baseURL, method: .put, task: .file(path))
                let request = try fixture.client.request(for: upload)
                _ = try folder.write(Self.bytes(10), to: "a.png")
                let error = await #expect(throws: ExchangeError.self) {
                    let response = try await fixture.client.respond(to: request)
                    for try await _ in response.body {}
                }
                #expect(error?.code != .originUnreachable)
                #expect(error?.message.contains(path) == true, "\(String(describing: error))")
                // The origin is still reachable.
                #expect(try await fixture.client.fetch(upload).value.body.length == 10)
            }
        }
    }
}
