import Foundation
import Holdfast
import SampleOrigin
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(20))) struct ProgressTests {
    private final class Heard: Sendable {
        private let all = Mutex<[TransferProgress]>([])
        func append(_ progress: TransferProgress) { all.withLock { $0.append(progress) } }
        func callAsFunction(_ direction: TransferProgress.Direction) -> [TransferProgress] {
            all.withLock { $0.filter { $0.direction == direction } }
        }
    }

    @Test func downloadReportsEveryPiece() async throws {
        try await ClientFixture.run { fixture in
            let heard = Heard()
            let call = fixture.client.call(fixture.get("/bytes/300000"), as: Data.self)
            _ = try await call.with { $0.onProgress = heard.append }.fetch()
            let pieces = heard(.download)
            #expect(pieces.map(\.completed) == pieces.map(\.completed).sorted())
            #expect(pieces.last == TransferProgress(direction: .download, completed: 300_000, total: 300_000))
            #expect(pieces.last?.fraction == 1)
            #expect(heard(.upload).isEmpty)
        }
    }

    @Test func contentWithoutALengthHasNoTotal() async throws {
        try await ClientFixture.run { fixture in
            let heard = Heard()
            let call = fixture.client.call(fixture.get("/bytes/100000?chunked=true"), as: Data.self)
            _ = try await call.with { $0.onProgress = heard.append }.fetch()
            #expect(heard(.download).last == TransferProgress(direction: .download, completed: 100_000, total: nil))
            #expect(heard(.download).last?.fraction == nil)
        }
    }

    @Test func storedResponseIsNoTransfer() async throws {
        try await ClientFixture.run { fixture in
            let endpoint = fixture.get("/bytes/300000")
            _ = try await fixture.client.fetch(endpoint, as: Data.self)
            let heard = Heard()
            let call = fixture.client.call(endpoint, as: Data.self).with { $0.onProgress = heard.append }
            #expect(try await call.fetch().source == .store)
            // A 304 confirmed it: its content is the stored one.
            #expect(try await call.fetch(.networkOnly).source == .network)
            #expect(heard(.download).isEmpty)
        }
    }

    @Test func uploadReportsEveryPiece() async throws {
        try await ClientFixture.run { fixture in
            let heard = Heard()
            var endpoint = fixture.get("/echo")
            endpoint.method = .post
            endpoint.task = .data(Data(repeating: 7, count: 200_000), contentType: "application/octet-stream")
            let call = fixture.client.call(endpoint, as: Data.self).with { $0.onProgress = heard.append }
            _ = try await call.fetch()
            let pieces = heard(.upload)
            #expect(pieces.map(\.completed) == [65_536, 131_072, 196_608, 200_000])
            #expect(pieces.allSatisfy { $0.total == 200_000 })
            #expect(!heard(.download).isEmpty)
        }
    }
}
