import Crypto
import Foundation
import SwiftASN1
import TestSupport
import Testing

@testable import RunCertificates

@Suite(.timeLimit(.minutes(20))) struct JavaTrustStoreTests {
    private static func authority() throws -> RunAuthority {
        let (key, leafKey) = (P256.Signing.PrivateKey(), P256.Signing.PrivateKey())
        return try RunAuthority(key: key, leafKey: leafKey, at: 1_764_460_000)
    }

    @Test func certificatesAreInTheStoreAndNothingElseIs() throws {
        let authorities = [try Self.authority(), try Self.authority()]
        let text = "a comment\n" + authorities[0].pem + "\n" + authorities[0].leafKey + "\n" + authorities[1].pem + "\n"
        let store = try JavaTrustStore(pem: text)
        let certificates = try authorities.map { try PEMDocument(pemString: $0.pem).derBytes }
        #expect(store.bytes.starts(with: [0xFE, 0xED, 0xFE, 0xED, 0, 0, 0, 2, 0, 0, 0, 2]))
        // An entry has 26 bytes beside its certificate, and the digest has 20.
        #expect(store.bytes.count == 12 + certificates.reduce(0) { $0 + 26 + $1.count } + 20)
        for certificate in certificates { #expect(Data(store.bytes).range(of: Data(certificate)) != nil) }
    }

    static let keytool = "/usr/bin/keytool"

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: JavaTrustStoreTests.keytool), "needs Java"))
    func javaReadsTheStore() async throws {
        let store = try JavaTrustStore(pem: try Self.authority().pem)
        try await TemporaryFolder.with { folder in
            let (file, log) = (folder.appending(path: "a.jks"), folder.appending(path: "log"))
            try Data(store.bytes).write(to: file)
            try Data().write(to: log)
            let output = try FileHandle(forWritingTo: log)
            let keytool = try ChildProcess(
                URL(fileURLWithPath: Self.keytool),
                // With the password, Java checks the digest.
                ["-list", "-keystore", file.path, "-storetype", "JKS", "-storepass", "changeit"],
                output: output.fileDescriptor,
                error: output.fileDescriptor
            )
            try output.close()
            let ending = try await keytool.end()
            let text = try String(contentsOf: log, encoding: .utf8)
            #expect(ending.status == 0 && text.contains("trustedCertEntry"), "\(text)")
        }
    }
}
