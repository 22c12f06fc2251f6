import Crypto
import Synchronization
import Testing

@testable import RunCertificates

@Suite(.timeLimit(.minutes(20))) struct LeafIssuerTests {
    private func issuer(at time: @escaping @Sendable () -> Int64 = { 0 }) throws -> LeafIssuer {
        let (key, leafKey) = (P256.Signing.PrivateKey(), P256.Signing.PrivateKey())
        return LeafIssuer(try RunAuthority(key: key, leafKey: leafKey, at: 1_764_460_000), now: time)
    }

    private func certificate(_ issuer: LeafIssuer, _ host: String) async throws -> [UInt8] {
        try await withCheckedThrowingContinuation { continuation in
            issuer.certificate(for: host) { continuation.resume(with: $0) }
        }
    }

    @Test func thirtyCallersGetTheSameCertificate() async throws {
        let issuer = try issuer()
        let certificates = try await withThrowingTaskGroup(of: [UInt8].self) { group in
            for _ in 0..<30 { group.addTask { try await certificate(issuer, "a.example") } }
            return try await group.reduce(into: Set<[UInt8]>()) { $0.insert($1) }
        }
        #expect(certificates.count == 1 && issuer.count == 1)
    }

    @Test func manyHostsLeaveAThousandCertificates() async throws {
        let time = Mutex<Int64>(0)
        let issuer = try issuer(at: {
            time.withLock { time in
                // Ten milliseconds are one signature.
                time += 10
                return time
            }
        })
        for number in 0..<3000 { _ = try await certificate(issuer, "h\(number).example") }
        #expect(issuer.count == LeafIssuance.maximumLeaves)
    }

    @Test func hostsThatNoCertificateCanNameAreRefused() async throws {
        let issuer = try issuer()
        await #expect(throws: LeafIssuer.Refusal.invalidName) { try await certificate(issuer, "a b") }
        #expect(issuer.count == 0)
    }

    @Test func callersBeyondTheRateAreRefused() async throws {
        let issuer = try issuer()
        for number in 0..<Int(LeafIssuance.burst) { _ = try await certificate(issuer, "h\(number).example") }
        await #expect(throws: LeafIssuer.Refusal.tooMany) { try await certificate(issuer, "one.more.example") }
        // A known host needs no signature.
        _ = try await certificate(issuer, "h0.example")
        #expect(issuer.count == Int(LeafIssuance.burst))
    }
}
