import NIOCore
import Testing

@testable import GatewayRouting
@testable import HoldfastGateway
@testable import OriginConnections

/// Mutants: an origin is suspect for a second; it stays suspect forever.
@Suite(.timeLimit(.minutes(20))) struct SuspectOriginsTests {
    private let start = NIODeadline.uptimeNanoseconds(1_000_000_000)
    private let five = TimeAmount.minutes(5)
    private func origin(_ number: Int = 1) -> OriginEndpoint {
        OriginEndpoint(isSecure: false, host: "\(number).example", port: 80)
    }

    @Test func isSuspectForFiveMinutes() {
        var suspects = SuspectOrigins()
        #expect(suspects.isEmpty && !suspects.contains(origin(), at: start))
        let isNew = suspects.note(origin(), at: start)
        #expect(isNew)
        #expect(suspects.contains(origin(), at: start) && !suspects.contains(origin(2), at: start))
        #expect(suspects.contains(origin(), at: start + five - .nanoseconds(1)))
        #expect(!suspects.contains(origin(), at: start + five))
    }

    @Test func laterBytesRenewTheTime() {
        var suspects = SuspectOrigins()
        let first = suspects.note(origin(), at: start)
        let second = suspects.note(origin(), at: start + .minutes(4))
        #expect(first && !second, "it is suspect already")
        #expect(suspects.contains(origin(), at: start + .minutes(9) - .nanoseconds(1)))
        #expect(!suspects.contains(origin(), at: start + .minutes(9)))
        let third = suspects.note(origin(), at: start + .minutes(9))
        #expect(third, "the time was over")
    }

    @Test func otherFilesForTLSMakeNoOtherOrigin() {
        var suspects = SuspectOrigins()
        var endpoint = origin()
        endpoint.revision = 7
        _ = suspects.note(endpoint, at: start)
        endpoint.revision = 8
        #expect(suspects.contains(endpoint, at: start) && suspects.contains(origin(), at: start))
        endpoint.address = OriginEndpoint.Address(host: "127.0.0.1", port: 1)
        #expect(!suspects.contains(endpoint, at: start), "another server of the origin")
    }

    @Test func thoseWhoseTimeIsOverFirstMakePlace() {
        var suspects = SuspectOrigins()
        for number in 0...SuspectOrigins.limit {
            _ = suspects.note(origin(number), at: start + .nanoseconds(Int64(number)))
        }
        let now = start + .seconds(1)
        #expect(!suspects.contains(origin(0), at: now))
        #expect((1...SuspectOrigins.limit).allSatisfy { suspects.contains(origin($0), at: now) })
    }
}
