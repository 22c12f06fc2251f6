import Crypto
import Foundation
import SwiftASN1
import Testing
import X509

@testable import RunCertificates

@Suite(.timeLimit(.minutes(20))) struct RunAuthorityTests {
    private static let now: Int64 = 1_764_460_000

    private func authority() throws -> RunAuthority {
        try RunAuthority(key: P256.Signing.PrivateKey(), leafKey: P256.Signing.PrivateKey(), at: Self.now)
    }

    private func leaf(_ authority: RunAuthority, _ host: String) throws -> Certificate {
        let name = try #require(LeafName(host))
        return try Certificate(derEncoded: try authority.leaf(for: name))
    }

    @Test func authoritySignsOnlyLeavesAndOnlyForADay() throws {
        let certificate = try Certificate(pemEncoded: try authority().pem)
        let constraints = try certificate.extensions.basicConstraints
        #expect(constraints == .isCertificateAuthority(maxPathLength: 0))
        #expect(try certificate.extensions.keyUsage == KeyUsage(keyCertSign: true))
        let critical = certificate.extensions.filter(\.critical)
        #expect(critical.count == 2)
        let time = certificate.notValidAfter.timeIntervalSince1970 - Double(Self.now)
        #expect(time == 86_400)
        #expect(certificate.notValidBefore.timeIntervalSince1970 < Double(Self.now))
    }

    @Test(arguments: [
        ("registry.example", GeneralName.dnsName("registry.example")),
        ("registry.example.", .dnsName("registry.example")),
        ("192.0.2.7", .ipAddress(ASN1OctetString(contentBytes: [192, 0, 2, 7]))),
        ("[::1]", .ipAddress(ASN1OctetString(contentBytes: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]))),
    ])
    func leafIsForExactlyTheHost(host: String, name: GeneralName) throws {
        let authority = try authority()
        let root = try Certificate(pemEncoded: authority.pem)
        let leaf = try leaf(authority, host)
        let names = try #require(try leaf.extensions.subjectAlternativeNames)
        #expect(Array(names) == [name])
        #expect(leaf.subject == DistinguishedName() && leaf.issuer == root.subject)
        #expect(root.publicKey.isValidSignature(leaf.signature, for: leaf))
        #expect(try leaf.extensions.basicConstraints == .notCertificateAuthority)
        let usage = try #require(try leaf.extensions.extendedKeyUsage)
        #expect(Array(usage) == [.serverAuth])
    }

    @Test func leavesShareAKeyThatIsNotTheAuthoritys() throws {
        let authority = try authority()
        let root = try Certificate(pemEncoded: authority.pem)
        let (one, two) = (try leaf(authority, "a.example"), try leaf(authority, "b.example"))
        #expect(one.publicKey == two.publicKey && one.publicKey != root.publicKey)
        #expect(one.serialNumber != two.serialNumber)
        #expect(authority.leafKey.contains("PRIVATE KEY"))
        #expect(!authority.pem.contains("PRIVATE"))
    }
}
