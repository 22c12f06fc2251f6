import Foundation
import HTTPCache
import HoldfastTesting
import NIOCore
import Testing

@testable import Holdfast
@testable import HoldfastContent

/// Fields and files in one content. RFC 7578, RFC 2046 §5.1
@Suite(.timeLimit(.minutes(20))) struct MultipartTests {
    private static func inMemory(_ multipart: Multipart) throws -> (content: [UInt8], type: String) {
        let (body, type) = try multipart.encoded()
        guard case .buffer(let buffer) = body else { throw BodyStreamError.alreadyRead }
        return (Array(buffer.readableBytesView), type)
    }

    private static func read(_ multipart: Multipart) throws -> [MultipartReader.Part]? {
        let (content, type) = try inMemory(multipart)
        return MultipartReader.parts(of: content, contentType: type)
    }

    @Test func contentFollowsTheRFCByteByByte() throws {
        let multipart = Multipart(
            [.text("At the harbour", name: "title"), .data(Data("<>".utf8), name: "page", fileName: "a.html")],
            boundary: "B"
        )
        let (content, type) = try Self.inMemory(multipart)
        #expect(type == "multipart/form-data; boundary=B")
        #expect(
            String(decoding: content, as: UTF8.self) == """
                --B\r
                Content-Disposition: form-data; name="title"\r
                \r
                At the harbour\r
                --B\r
                Content-Disposition: form-data; name="page"; filename="a.html"\r
                Content-Type: text/html\r
                \r
                <>\r
                --B--\r

                """
        )
    }

    @Test(arguments: [
        ("a\"b", "a%22b"), ("a\r\nContent-Type: x", "a%0D%0AContent-Type: x"), ("ü/😀", "ü/😀"),
        ("e\u{301}", "e\u{301}"), ("a\\b; c=d", "a\\b; c=d"), ("", ""),
    ])
    func namesAreEscapedAsBrowsersDo(name: String, expected: String) throws {
        let multipart: Multipart = [.data(Data("x".utf8), name: name, fileName: name, contentType: "a/b")]
        let (content, _) = try Self.inMemory(multipart)
        let text = String(decoding: content, as: UTF8.self)
        let line =
            "Content-Disposition: form-data; name=\"\(expected)\"; filename=\"\(expected)\"\r\nContent-Type: a/b\r\n\r\nx\r\n"
        // Compares bytes: otherwise a composed letter would equal a decomposed one.
        #expect(
            Array(
                text.utf8.dropFirst(
                    text.utf8.firstIndex(of: 10).map { text.utf8.distance(from: text.startIndex, to: $0) + 1 } ?? 0
                ).prefix(line.utf8.count)
            ) == Array(line.utf8)
        )
    }

    @Test(arguments: ["text/plain\r\nX: y", "a\nb", "a\u{0}"])
    func mediaTypeCannotEndALine(type: String) async {
        await expect(.encodingFailed) {
            _ = try Multipart([.init(name: "a", contentType: type, content: .data(Data()))]).encoded()
        }
    }

    @Test(arguments: [
        ("a.JPG", "image/jpeg"), ("/x.y/b.tar.gz", "application/gzip"), ("a", "application/octet-stream"),
        ("/x.png/a", "application/octet-stream"), ("a.", "application/octet-stream"), (".json", "application/json"),
        ("", "application/octet-stream"), ("a.unknown", "application/octet-stream"),
    ])
    func mediaTypeFollowsTheFileExtension(name: String, type: String) {
        #expect(FileMediaTypes.type(of: name) == type)
        #expect(Multipart.Part.data(Data(), name: "a", fileName: name).contentType == type)
        #expect(Multipart.Part.data(Data(), name: "a", fileName: name, contentType: "x/y").contentType == "x/y")
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func partsAreReadBackUnchanged(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let pieces = ["\r\n", "--", "-", "\r", "a", "holdfast-", "\u{0}", "--\r\n", "ü", "Content-Type: x\r\n\r\n"]
        for _ in 0..<50 {
            let parts = (0..<Int.random(in: 1...5, using: &random)).map { index in
                let text = (0..<Int.random(in: 0...12, using: &random))
                    .map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
                return index.isMultiple(of: 2)
                    ? Multipart.Part.text(text, name: "p\(index)")
                    : .data(Data(text.utf8), name: "p\(index)", fileName: "f\(index).txt")
            }
            let expected = parts.map { part -> MultipartReader.Part in
                guard case .data(let data) = part.content else { return .init(content: []) }
                return .init(
                    name: part.name,
                    fileName: part.fileName,
                    contentType: part.contentType,
                    content: Array(data)
                )
            }
            #expect(try Self.read(Multipart(parts)) == expected, "seed \(seed)")
        }
    }

    @Test func equalPartsAreEqualContent() throws {
        func content(_ text: String) throws -> [UInt8] { try Self.inMemory([.text(text, name: "a")]).content }
        #expect(try content("x") == content("x"))
        #expect(try Self.inMemory([.text("x", name: "a")]).type != Self.inMemory([.text("y", name: "a")]).type)
    }

    @Test func boundaryIsInNoPart() async throws {
        let first = try Self.inMemory([.text("x", name: "a")]).type
        let boundary = try #require(first.split(separator: "=").last.map(String.init))
        // The boundary is a hash of the parts. Parts that contain the hash of themselves are as
        // hard to find as the hash is good.
        let given = Multipart([.text("a\r\n--\(boundary)--", name: "a")], boundary: boundary)
        await expect(.encodingFailed) { _ = try given.encoded() }
        await expect(.encodingFailed) {
            _ = try Multipart([.text("x", name: "--\(boundary)")], boundary: boundary).encoded()
        }
    }

    @Test(arguments: ["", "a b", "a\r\n", "ü", "a\"b", String(repeating: "a", count: 71)])
    func invalidBoundaryIsAnError(boundary: String) async {
        await expect(.encodingFailed) { _ = try Multipart([.text("x", name: "a")], boundary: boundary).encoded() }
    }

    @Test func boundaryWithDelimitersIsQuoted() throws {
        let multipart = Multipart([.text("x", name: "a")], boundary: "a:b/c=?")
        #expect(try Self.inMemory(multipart).type == "multipart/form-data; boundary=\"a:b/c=?\"")
        #expect(try Self.read(multipart)?.count == 1)
    }

    @Test func contentTypeOverridesDefaults() throws {
        var endpoint = PathEndpoint(
            baseURL: "https://a.example",
            path: "/",
            method: .put,
            task: .multipart([.text("x", name: "a")], parameters: ["album": 7])
        )
        endpoint.headers = [.contentType: "application/json"]
        let request = try endpoint.request(defaults: .init())
        #expect(request.head.headerFields[.contentType]?.hasPrefix("multipart/form-data; boundary=") == true)
        #expect(request.head.method == .put && request.head.path == "/?album=7")
    }
}
