package import NIOSSL

/// A certificate for `localhost` and 127.0.0.1, and one for a client, valid from 2020 to 2120. Only
/// tests that name them trust them.
///
/// Their keys are no secrets: they protect only the tests' connections to themselves.
package enum TestCertificates {
    package static let server = """
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

    package static let serverKey = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgmtdZqxRPpJet43c4
        1KLNnNLIC6cw9T6U84GjzzRg57ChRANCAASd6hU6M3wolGHevjbtcUrFGBQwnp0e
        suqsP9t4mWhquq3lbvHH4t19L6k6prScPFWdHNpxwz8Gb3/28o2JNlW5
        -----END PRIVATE KEY-----
        """

    package static let client = """
        -----BEGIN CERTIFICATE-----
        MIIBRTCB66ADAgECAgEBMAoGCCqGSM49BAMCMBExDzANBgNVBAMMBmNsaWVudDAg
        Fw0yMDAxMDEwMDAwMDBaGA8yMTIwMDEwMTAwMDAwMFowETEPMA0GA1UEAwwGY2xp
        ZW50MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEpNq/qbdqeEZxgkNqNYFcqKlY
        7559yqt9frMKRpKuR8HDgSC/CXvT7dEnNTVIzBNQoWg1flFKwsW9mgyvDQBb9qMy
        MDAwDwYDVR0TAQH/BAUwAwEB/zAdBgNVHQ4EFgQUjKJY2apFQTAnkSghbZyn8bhn
        17YwCgYIKoZIzj0EAwIDSQAwRgIhAOnnsDB5VqhiRW9/ttSRF3xSm/TlAB255how
        QLUBySbDAiEAlFUgG5dixm3OAfuiJUY8X8n8f9+HD6mUhFU4EN/Fscs=
        -----END CERTIFICATE-----
        """

    package static let clientKey = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQglKUME9EglMQvZJMB
        WLc/NkymkDnoXQzhMXYWIMq1jmuhRANCAASk2r+pt2p4RnGCQ2o1gVyoqVjvnn3K
        q31+swpGkq5HwcOBIL8Je9Pt0Sc1NUjME1ChaDV+UUrCxb2aDK8NAFv2
        -----END PRIVATE KEY-----
        """

    /// The client's key, encrypted with a passphrase.
    package static let encryptedKey = """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAgLYiBIMch/FAICCAAw
        DAYIKoZIhvcNAgkFADAdBglghkgBZQMEAQIEEJdWLWnwAsPrxPd9LPkLF5MEgZDW
        zui0PpylOkkP5eBMyG1PPItZlOvsaiVfBmTMJS5+TnJU9P0X8JokbauhmTYUwZBI
        YpPmvzeRfGYa7Od7gvGwNRpFBTmLQsBCiWhM+XrU0wbYjYC2GMG7bULHDzn97icm
        rrj1FhpXlfRtk/JGhz+0v4dJRJo2Qr3oDCm16PGSw8loQKxcnxUfzeh77tvRctU=
        -----END ENCRYPTED PRIVATE KEY-----
        """

    /// - Parameter requestsClient: whether only the client with `client` may connect.
    package static func serverContext(requestsClient: Bool = false) throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: [.certificate(try NIOSSLCertificate(bytes: Array(server.utf8), format: .pem))],
            privateKey: .privateKey(try NIOSSLPrivateKey(bytes: Array(serverKey.utf8), format: .pem))
        )
        if requestsClient {
            configuration.certificateVerification = .noHostnameVerification
            configuration.trustRoots = .certificates([try NIOSSLCertificate(bytes: Array(client.utf8), format: .pem)])
        }
        return try NIOSSLContext(configuration: configuration)
    }
    /// - Parameter body: gets the path of a file with the server's certificate.
    package static func withTrustRoots<Value>(_ body: (String) async throws -> Value) async throws -> Value {
        let folder = try TemporaryFolder()
        defer { withExtendedLifetime(folder) {} }
        let file = folder.path + "/roots.pem"
        try writeFile(file, Array(server.utf8))
        return try await body(file)
    }
}
