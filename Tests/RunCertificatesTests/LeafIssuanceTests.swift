import Testing

@testable import RunCertificates

@Suite(.timeLimit(.minutes(20))) struct LeafIssuanceTests {
    private func name(_ number: Int) throws -> LeafName { try #require(LeafName("h\(number).example")) }

    @Test func hostIsSignedOnce() throws {
        var issuance = LeafIssuance()
        let name = try name(1)
        #expect(issuance.request(name, at: 0) == .sign)
        #expect(issuance.request(name, at: 0) == .wait)
        issuance.finish(name, [1])
        #expect(issuance.request(name, at: 0) == .issued([1]))
        #expect(issuance.count == 1)
    }

    @Test func failedSignatureIsTriedAgain() throws {
        var issuance = LeafIssuance()
        let name = try name(1)
        #expect(issuance.request(name, at: 0) == .sign)
        issuance.finish(name, nil)
        #expect(issuance.request(name, at: 0) == .sign)
        // A certificate that no one asked for is not kept.
        issuance.finish(try self.name(2), [2])
        #expect(issuance.count == 0)
    }

    @Test func hundredThousandHostsLeaveAThousandCertificates() throws {
        var issuance = LeafIssuance()
        let first = try name(0)
        for number in 0..<100_000 {
            // Ten milliseconds are one signature.
            let (name, now) = (try name(number), Int64(number) * 10)
            #expect(issuance.request(name, at: now) == .sign)
            issuance.finish(name, [UInt8(truncatingIfNeeded: number)])
            // It is in use all the time, so it stays.
            #expect(issuance.request(first, at: now) == .issued([0]))
            #expect(issuance.count <= LeafIssuance.maximumLeaves)
        }
        #expect(issuance.count == LeafIssuance.maximumLeaves)
        #expect(issuance.request(try name(1), at: 1_000_000) == .sign)
    }

    @Test func signaturesHaveARate() throws {
        var issuance = LeafIssuance()
        var signed = 0
        for number in 0..<10_000 {
            // All in the first second.
            let name = try name(number)
            guard issuance.request(name, at: Int64(number) / 10) == .sign else { continue }
            signed += 1
            issuance.finish(name, [])
        }
        let limit = Int(LeafIssuance.burst + LeafIssuance.rate)
        #expect((limit - 2...limit).contains(signed), "\(signed)")
        // A pause restores the burst, and no more.
        var later = 0
        for number in 20_000..<30_000 {
            let name = try name(number)
            guard issuance.request(name, at: 1_000_000_000) == .sign else { continue }
            later += 1
            issuance.finish(name, [])
        }
        #expect(later == Int(LeafIssuance.burst))
    }

    @Test func hostsThatWaitHaveALimit() throws {
        var issuance = LeafIssuance()
        let decisions = try (0..<100).map { issuance.request(try name($0), at: 0) }
        let signed = decisions.filter { $0 == .sign }.count
        #expect(signed == LeafIssuance.maximumPending)
        #expect(decisions.last == .refuse)
    }

    /// A clock that goes back neither traps nor gives signatures away.
    @Test func timesInAnyOrderAreHarmless() throws {
        var issuance = LeafIssuance()
        for (number, time) in [Int64.max, .min, 0, -1, .max, 5].enumerated() {
            let name = try name(number)
            #expect(issuance.request(name, at: time) == .sign)
            issuance.finish(name, [])
        }
    }
}
