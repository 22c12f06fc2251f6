import Foundation
import HTTPCacheSemantics
import HoldfastTesting
import NIOCore
import Synchronization
import Testing

@testable import Holdfast

/// Numbers that an origin states, through the request layer: progress, downloads and their
/// resumption, retries. A trap ends the tests. docs/attacks.md, 75
@Suite(.timeLimit(.minutes(20)))
struct StatedNumberTests {
    private static let numbers = [
        "3", "2147483647", "2147483648", "2147483649", "9007199254740991", "9007199254740992", "9007199254740993",
        "9223372036854775806", "9223372036854775807", "9223372036854775808", "18446744073709551616",
    ]
    private let endpoint = PathEndpoint(baseURL: "https://a.example", path: "/film")

    /// Sends two bytes under any head, and says how many they are as the head does.
    private final class Origin: Transport {
        let heads: Mutex<[HTTPResponse]>

        init(_ heads: HTTPResponse...) { self.heads = Mutex(heads) }

        func send(_ request: TransportRequest) async throws -> TransportResponse {
            let head = heads.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
            let body = BodyStream(length: head.headerFields[.contentLength].flatMap { StatedLength(digits: $0) }) {
                var rest: ByteBuffer? = ByteBuffer(string: "xx")
                return {
                    defer { rest = nil }
                    return rest
                }
            }
            return TransportResponse(head: head, body: body)
        }
    }

    private static func whole(_ length: String) -> HTTPResponse {
        HTTPResponse(
            status: .ok,
            headerFields: [.contentLength: length, .eTag: "\"one\"", .cacheControl: "max-age=60"]
        )
    }

    @Test(arguments: numbers)
    func contentShorterThanStatedIsAnError(_ number: String) async throws {
        let fixture = try await ManualFixture(transport: Origin(Self.whole(number)))
        let heard = Mutex<[TransferProgress]>([])
        let call = fixture.client.call(endpoint, as: Data.self).with {
            $0.onProgress = { progress in heard.withLock { $0.append(progress) } }
        }
        // A length that is no number is none.
        let isLength = StatedLength(digits: number) != nil
        if isLength {
            await #expect(throws: HoldfastError.self) { try await call.fetch() }
        } else {
            _ = try? await call.fetch()
        }
        for progress in heard.withLock({ $0 }) {
            #expect(progress.total ?? 0 <= 1 << 53)
            #expect((progress.total ?? 0) - progress.completed <= 1 << 53)
        }
        let statistics = try await fixture.store.statistics()
        #expect(!isLength || statistics.responses == 0)
        try await fixture.close()
    }

    @Test(arguments: numbers)
    func downloadsBeginAndResumeWithAnyLength(_ number: String) async throws {
        var part = HTTPResponse(status: .partialContent, headerFields: [.eTag: "\"one\""])
        part.headerFields[.contentRange] = "bytes 2-\(number)/*"
        part.headerFields[.contentLength] = number
        var beyond = HTTPResponse(status: .rangeNotSatisfiable, headerFields: [.eTag: "\"one\""])
        beyond.headerFields[.contentRange] = "bytes */\(number)"
        let fixture = try await ManualFixture(transport: Origin(Self.whole(number), part, beyond, Self.whole("2")))
        let path = fixture.folder + "/film"
        let destination = DownloadDestination(path, overwrites: true)
        for _ in 0..<4 { _ = try? await fixture.client.download(endpoint, to: destination) }
        let file = try await fixture.client.download(endpoint, to: destination)
        #expect(file.length == 2)
        try await fixture.close()
    }
}
