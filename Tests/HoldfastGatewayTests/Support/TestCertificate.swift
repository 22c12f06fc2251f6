import Foundation
import NIOSSL

/// A certificate for `localhost` and 127.0.0.1, valid from 2020 to 2120. Only tests that configure
/// it trust it.
///
/// Its key is not a secret: it protects only the tests' connections to themselves.
enum TestCertificate {
    static let certificate = """
        -----BEGIN CERTIFICATE-----
        MIIBYzCCAQqgAwIBAgIBATAKBggqhkjOPQQDAjAUMRIwEAYDVQQDDAlsb2NhbGhv
        c3QwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMBQxEjAQBgNVBAMM
        CWxvY2FsaG9zdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABJ3qFTozfCiUYd6+
        Nu1xSsUYFDCenR6y6qw/23iZaGq6reVu8cfi3X0vqTqmtJw8VZ0c2nHDPwZvf/by
        jYk2VbmjSzBJMBoGA1UdEQQTMBGCCWxvY2FsaG9zdIcEfwAAATAMBgNVHRMEBTAD
        AQH/MB0GA1UdDgQWBBT6YWTufephNRRV55szsjdMFPFrdTAKBggqhkjOPQQDAgNH
        ADBEAiA7n5lHJtjzqKfufcggedG1DnJVnVLLAstHd1lXFvIdHAIgfHeBPAdNoUlC
        flQ8OyNxsltudnNyW4P3sXqpg8y1Kb8=
        -----END CERTIFICATE-----
        """

    static let key = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgmtdZqxRPpJet43c4
        1KLNnNLIC6cw9T6U84GjzzRg57ChRANCAASd6hU6M3wolGHevjbtcUrFGBQwnp0e
        suqsP9t4mWhquq3lbvHH4t19L6k6prScPFWdHNpxwz8Gb3/28o2JNlW5
        -----END PRIVATE KEY-----
        """

    static func serverContext() throws -> NIOSSLContext {
        let certificate = try NIOSSLCertificate(bytes: Array(certificate.utf8), format: .pem)
        let key = try NIOSSLPrivateKey(bytes: Array(key.utf8), format: .pem)
        return try NIOSSLContext(
            configuration: .makeServerConfiguration(
                certificateChain: [.certificate(certificate)],
                privateKey: .privateKey(key)
            )
        )
    }

    /// - Parameter body: gets the path of a file with the certificate.
    static func withTrustRoots<Value>(_ body: (String) async throws -> Value) async throws -> Value {
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).pem")
        try Data(certificate.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        return try await body(file.path)
    }
}
