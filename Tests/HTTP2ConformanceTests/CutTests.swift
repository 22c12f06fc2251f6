import HTTP2Cases
import NIOCore
import NIOPosix
import Testing

/// A client's bytes come in any pieces: the result must not depend on them.
@Suite(.timeLimit(.minutes(20))) struct CutTests {
    private static let cases = HTTP2Cases.all.filter { $0.defect == nil && $0.sentCount > 1 && !$0.mayGetEarlyResponse }

    /// The parts that must be equal. More than the expectation asks for depends on when the origin
    /// responds.
    private struct Result: CustomStringConvertible {
        var isMet: Bool
        var goAway: UInt32?
        var description: String

        init(_ entry: HTTP2Case, _ seen: Observation) {
            isMet = entry.expectation.isMet(by: seen, strictly: true)
            goAway = seen.goAway
            description = "\(isMet ? "met" : "not met"): \(seen)"
        }

        func agrees(with other: Result) -> Bool { isMet == other.isMet && goAway == other.goAway }
    }

    /// Each byte of a transcript comes alone.
    @Test(arguments: cases.filter { $0.sentCount <= 300 })
    func resultIsTheSameByteByByte(_ entry: HTTP2Case) async throws {
        try await withKnownIssue(
            "nghttp2 counts each piece of a CONTINUATION frame's head as a frame, and allows eight: ENHANCE_YOUR_CALM."
        ) {
            try await Self.compare(entry, [.everywhere])
        } when: {
            entry.continuesBlock
        }
    }

    /// A short transcript comes in two pieces, cut before each of its bytes.
    @Test(arguments: cases.filter { $0.sentCount <= 48 })
    func resultIsTheSameInTwoPieces(_ entry: HTTP2Case) async throws {
        try await Self.compare(entry, (1..<entry.sentCount).map { .at($0) })
    }

    private static func compare(_ entry: HTTP2Case, _ cuts: [CaseRunner.Cut]) async throws {
        // One loop: the pacer knows that it has read the piece before the cut.
        let loop = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        try await CaseGateway.with(group: loop) { gateway in
            let runner = gateway.runner()
            let pacer = Pacer(port: gateway.port, group: .singletonMultiThreadedEventLoopGroup)
            let whole = Result(entry, try await runner.run(entry))
            for cut in cuts {
                let seen = try await runner.run(entry, cut: cut) { await pacer.pass() }
                let result = Result(entry, seen)
                #expect(result.agrees(with: whole), "\(entry), cut \(cut): \(result), but uncut \(whole)")
                if !result.agrees(with: whole) { break }
            }
            await pacer.close()
        }
        try await loop.shutdownGracefully()
    }
}
