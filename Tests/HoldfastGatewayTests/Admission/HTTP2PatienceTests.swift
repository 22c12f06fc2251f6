import NIOCore
import Testing

@testable import HoldfastGateway

/// Patience with clients of HTTP/2.
@Suite(.timeLimit(.minutes(20)))
struct HTTP2PatienceTests {
    private let start = NIODeadline.uptimeNanoseconds(1_000_000_000)

    private func spend(_ patience: inout HTTP2Patience, _ cost: HTTP2Patience.Cost, at time: NIODeadline) -> Int {
        var count = 0
        while patience.spend(cost, at: time), count < 10_000 { count += 1 }
        return count
    }

    @Test func endsWithAFlood() {
        var patience = HTTP2Patience(at: start)
        #expect(spend(&patience, .frame, at: start) == 999)
        patience = HTTP2Patience(at: start)
        #expect(spend(&patience, .reset, at: start) == 199)
    }

    /// Mutant: fields that are too large cost as much as a reset, however many bytes were decoded.
    @Test func oversizedFieldsCostWhatWasDecoded() {
        for (bytes, count) in [(0, 199), (4_095, 199), (72 << 10, 43), (288 << 10, 12)] {
            var patience = HTTP2Patience(at: start)
            #expect(spend(&patience, .fields(bytes), at: start) == count, "\(bytes)")
        }
    }

    @Test func comesBackWithTime() {
        var patience = HTTP2Patience(at: start)
        _ = spend(&patience, .frame, at: start)
        #expect(spend(&patience, .frame, at: start + .seconds(1)) == 99)
        // No more than all of it, however long the client was quiet.
        #expect(spend(&patience, .frame, at: start + .hours(24)) == 999)
    }

    @Test func clientThatReadsItsResponsesUsesUpNoPatience() {
        var patience = HTTP2Patience(at: start)
        for _ in 0..<100_000 {
            patience.earn()
            let isLeft = patience.spend(.frame, at: start) && patience.spend(.frame, at: start)
            #expect(isLeft)
        }
    }
}
