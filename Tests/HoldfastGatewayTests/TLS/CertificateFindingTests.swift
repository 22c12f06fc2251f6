import Foundation
import HTTPCacheSemantics
import HoldfastConfiguration
import NIOSSL
import Testing

@testable import HoldfastGateway
@testable import TLSCertificates

/// The certificates of listeners, examined without serving.
@Suite(.timeLimit(.minutes(20))) struct CertificateFindingTests {
    private func findings(
        _ tls: Configuration.TLS,
        hosts: [String] = [],
        daysFromNow days: Int64 = 0
    ) throws -> [CertificateFinding] {
        let origin = try GatewayOrigin("http://o.example")
        return CertificateFinding.findings(
            of: [.address(ListenAddress(host: "127.0.0.1", port: 443), tls: tls)],
            routes: try hosts.map { try GatewayRoute(host: $0, origin: origin) },
            at: Timestamp(milliseconds: (Int64(Date().timeIntervalSince1970) + days * 86_400 + 43_200) * 1000)
        )
    }

    private func close(_ folder: CertificateFolder, _ names: String...) throws {
        for name in names {
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: folder.file("\(name).key"))
        }
    }

    @Test func aGoodCertificateHasNone() async throws {
        try await CertificateFolder.with { folder in
            let tls = Configuration.TLS(certificates: [try folder.make("a", "DNS:a.example,DNS:*.b.example")])
            try close(folder, "a")
            #expect(try findings(tls, hosts: ["a.example", "A.example:443", "x.b.example", "*.b.example"]) == [])
        }
    }

    /// The certificates are valid for 90 days.
    @Test(
        arguments: [
            (75, nil, ""), (77, false, "expires in 12 days"), (89, false, "expires in less than a day"),
            (92, true, "expired 2 days ago"), (-2, true, "is not valid yet"),
        ] as [(Int64, Bool?, String)]
    )
    func expiryIsReported(days: Int64, isError: Bool?, message: String) async throws {
        try await CertificateFolder.with { folder in
            let tls = Configuration.TLS(certificates: [try folder.make("a", "DNS:a.example")])
            try close(folder, "a")
            let found = try findings(tls, daysFromNow: days)
            #expect(found.map(\.isError) == (isError.map { [$0] } ?? []))
            #expect(found.allSatisfy { $0.message.contains(message) && $0.certificate == "a" }, "\(found)")
        }
    }

    @Test func theOrderOfTheChainIsReported() async throws {
        try await CertificateFolder.with { folder in
            try folder.make("root", "DNS:root.example")
            let files = try folder.sign("a", by: "root")
            try close(folder, "a")
            let leaf = try folder.text("a.pem")
            let tls = Configuration.TLS(certificates: [files])
            func messages() throws -> [String] { try findings(tls).map { "\($0.isError) \($0.message)" } }
            #expect(try messages().contains { $0.hasPrefix("false") && $0.contains("fullchain.pem") })
            try folder.write(leaf + folder.text("root.pem"), to: "a.pem")
            #expect(try messages().count == 1, "it names no host")
            try folder.make("other", "DNS:other.example")
            try folder.write(leaf + folder.text("other.pem"), to: "a.pem")
            #expect(
                try messages().contains {
                    $0.hasPrefix("true") && $0.contains("certificate 2 did not issue certificate 1")
                }
            )
            // The other way round, the key belongs to the second one.
            try folder.write(folder.text("root.pem") + leaf, to: "a.pem")
            #expect(
                try messages() == [
                    "true '\(folder.file("a.pem"))' is in the wrong order: the key belongs to certificate 2. Put the server's certificate first, and each certificate's issuer directly after it."
                ]
            )
            try folder.write(folder.text("root.pem") + folder.text("other.pem"), to: "a.pem")
            #expect(
                try messages().contains { $0.hasPrefix("true") && $0.contains("does not match the first certificate") }
            )
        }
    }

    @Test func hostsKeysAndRightsAreReported() async throws {
        try await CertificateFolder.with { folder in
            var tls = Configuration.TLS(certificates: [try folder.make("r", "DNS:r.example", rsa: true)])
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: folder.file("r.key"))
            let open = try findings(tls)
            #expect(open.contains { $0.isError && $0.message.contains("is accessible to other users (mode 0644)") })
            try close(folder, "r")
            tls.client = .init(roots: folder.file("r.key"))
            let found = try findings(tls, hosts: ["r.example", "s.example", "*.r.example"])
            let expected = [
                (false, "is an RSA key"), (true, "contains a private key instead of a certificate"),
                (false, "covers 's.example'"), (false, "covers 'r.example'"),
            ]
            for (isError, message) in expected.dropLast() {
                #expect(
                    found.contains { $0.isError == isError && $0.message.contains(message) },
                    "\(message): \(found)"
                )
            }
            let key = try folder.text("r.key")
            #expect(found.allSatisfy { !$0.message.contains(key.split(separator: "\n")[1]) })
        }
    }

    @Test func filesInOtherFormatsAreRecognized() async throws {
        try await CertificateFolder.with { folder in
            let files = try folder.make("a", "DNS:a.example")
            try close(folder, "a")
            try folder.convert("pkcs12 -export -in a.pem -inkey a.key -passout pass:x -out a.p12")
            try folder.convert("x509 -in a.pem -outform der -out a.der")
            try folder.convert("pkey -in a.key -outform der -out der.key")
            try folder.convert("req -new -key a.key -subj /CN=a.example -out a.csr")
            for name in ["a.p12", "der.key", "a.pem"] {
                try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: folder.file(name))
            }
            func message(_ chain: String, _ key: String) throws -> String? {
                let files = Configuration.TLS.Certificate(name: "a", chain: folder.file(chain), key: folder.file(key))
                return try findings(Configuration.TLS(certificates: [files])).first { $0.isError }?.message
            }
            let cases = [
                ("a.p12", "a.key", "a.p12' is a PKCS #12 file."), ("a.pem", "a.p12", "a.p12' is a PKCS #12 file."),
                ("a.csr", "a.key", "a.csr' is a request for a certificate."),
                ("a.der", "a.key", "a.der' is a certificate in DER format."),
                ("a.pem", "der.key", "der.key' is a private key in DER format."),
                ("a.key", "a.pem", "a.key' contains a private key instead of a certificate."),
                ("a.pem", "a.pem", "a.pem' contains a certificate instead of a private key."),
            ]
            for (chain, key, words) in cases {
                let found = try message(chain, key)
                #expect(found?.contains(words) == true, "\(chain) \(key): \(found ?? "")")
            }
            #expect(try findings(Configuration.TLS(certificates: [files])) == [])
            // Whatever is cut off, it is recognized or not, and nothing ends the process.
            let bytes = [UInt8](try Data(contentsOf: URL(filePath: folder.file("a.p12"))))
            for count in 0..<min(bytes.count, 20) { _ = ForeignFile(Array(bytes[..<count])) }
        }
    }

    /// RFC 5280 §4.1
    @Test func namesOfCertificatesAreRead() async throws {
        try await CertificateFolder.with { folder in
            try folder.make("root", "DNS:root.example")
            try folder.sign("a", by: "root")
            func names(_ name: String) throws -> CertificateNames {
                let bytes = try folder.certificate(name).toDERBytes()
                return try #require(CertificateNames(bytes))
            }
            let (root, leaf) = (try names("root"), try names("a"))
            #expect(root.isSelfSigned && !leaf.isSelfSigned)
            #expect(leaf.issuer.elementsEqual(root.subject))
            // Whatever is cut off or changed, it is read or not, and nothing ends the process.
            let bytes = try folder.certificate("a").toDERBytes()
            for count in 0..<min(bytes.count, 200) { _ = CertificateNames(Array(bytes[..<count])) }
            for index in 0..<min(bytes.count, 200) {
                for value: UInt8 in [0, 0x7F, 0x80, 0x84, 0xFF] {
                    var changed = bytes
                    changed[index] = value
                    _ = CertificateNames(changed)
                }
            }
        }
    }

    /// The files of an interrupted tool may be anything.
    @Test func filesAreJudgedBeforeTheyAreRead() async throws {
        try await CertificateFolder.with { folder in
            try folder.write(String(repeating: "a", count: CertificateFile.limit + 1), to: "long")
            try #require(mkfifo(folder.file("pipe"), 0o600) == 0)
            for (name, reason) in [
                (".", "is not a file"), ("pipe", "is not a file"), ("long", "is too large"),
                ("none", "cannot be opened"),
            ] {
                let refusal = #expect(throws: CertificateRefusal.self) { try CertificateFile(folder.file(name)) }
                #expect(refusal?.reason.hasPrefix(reason) == true)
            }
        }
    }
}
