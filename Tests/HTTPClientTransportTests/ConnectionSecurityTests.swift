import Foundation
import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import NIOCore
import TestSupport
import Testing

@testable import HTTPClientTransport

/// Trust roots, client certificates and proxies, over real sockets.
@Suite(.timeLimit(.minutes(20))) struct ConnectionSecurityTests {
    private func withTransport<Value>(
        tls: HTTPClientTransport.TLS? = nil,
        proxy: HTTPClientTransport.Proxy? = nil,
        _ body: (HTTPClientTransport) async throws -> Value
    ) async throws -> Value {
        var configuration = HTTPClientTransport.Configuration.patient
        configuration.tls = tls
        configuration.proxy = proxy
        return try await HTTPClientTransport.with(configuration, body)
    }

    /// The errors of thirty requests at once.
    private func errors(_ transport: HTTPClientTransport, _ scheme: String, _ port: Int) async -> [TransportError?] {
        await withTaskGroup(of: TransportError?.self) { group in
            for number in 0..<30 {
                group.addTask {
                    let head = HTTPRequest(
                        method: .get,
                        scheme: scheme,
                        authority: "127.0.0.1:\(port)",
                        path: "/\(number)"
                    )
                    do {
                        let response = try await transport.send(TransportRequest(head: head))
                        _ = try await response.body.collect(upTo: 100)
                        return nil
                    } catch {
                        return error as? TransportError ?? TransportError(code: .other, message: "\(error)")
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }

    // MARK: Certificates

    @Test func trustsOnlyTheGivenRoots() async throws {
        let roots = try HTTPClientTransport.TLS(trustRoots: .text(TestCertificates.server))
        let others = try HTTPClientTransport.TLS(trustRoots: .text(TestCertificates.client))
        try await CuttingOrigin.with(tls: TestCertificates.serverContext()) { _ in
            .respond(CuttingOrigin.ok)
        } _: { origin in
            try await withTransport(tls: roots) { transport in
                #expect(await errors(transport, "https", origin.port).allSatisfy { $0 == nil })
            }
            #expect(origin.requests.count == 30)
            for tls in [nil, others] {
                try await withTransport(tls: tls) { transport in
                    #expect(await errors(transport, "https", origin.port).allSatisfy { $0?.code == .tls })
                }
            }
            #expect(origin.requests.count == 30)
        }
    }

    @Test func presentsAClientCertificate() async throws {
        let trusting = try HTTPClientTransport.TLS(trustRoots: .text(TestCertificates.server))
        let presenting = try HTTPClientTransport.TLS(
            trustRoots: .text(TestCertificates.server),
            certificate: .text(TestCertificates.client),
            key: .text(TestCertificates.clientKey)
        )
        try await CuttingOrigin.with(tls: TestCertificates.serverContext(requestsClient: true)) { _ in
            .respond(CuttingOrigin.ok)
        } _: { origin in
            try await withTransport(tls: trusting) { transport in
                #expect(await errors(transport, "https", origin.port).allSatisfy { $0?.code.isUnreachable == true })
            }
            #expect(origin.requests.isEmpty)
            try await withTransport(tls: presenting) { transport in
                #expect(await errors(transport, "https", origin.port).allSatisfy { $0 == nil })
            }
        }
    }

    @Test func closedTLSConnectionsFailNoRequest() async throws {
        let roots = try HTTPClientTransport.TLS(trustRoots: .text(TestCertificates.server))
        try await CuttingOrigin.with(tls: TestCertificates.serverContext()) { request in
            request.repeats == 0 ? .close() : .respond(CuttingOrigin.ok)
        } _: { origin in
            try await withTransport(tls: roots) { transport in
                #expect(await errors(transport, "https", origin.port).allSatisfy { $0 == nil })
                #expect(origin.requests.count == 60)
            }
        }
    }

    /// A folder with files, which is removed.
    private func withFolder(_ files: [String: String], _ body: (String) throws -> Void) throws {
        let folder = try TemporaryFolder()
        for (name, text) in files { try writeFile("\(folder.path)/\(name)", Array(text.utf8)) }
        try body(folder.path + "/")
    }

    @Test func readsFiles() throws {
        try withFolder([
            "ca.pem": TestCertificates.server, "a.pem": TestCertificates.client, "a.key": TestCertificates.clientKey,
        ]) {
            folder in
            let tls = try HTTPClientTransport.TLS(
                trustRoots: .file(folder + "ca.pem"),
                certificate: .file(folder + "a.pem"),
                key: .file(folder + "a.key")
            )
            #expect(tls.roots?.count == 1 && tls.chain.count == 1 && tls.key != nil)
            #expect("\(tls)".contains("'\(folder)ca.pem'"))
        }
    }

    /// Each error names its file and the fault, and shows nothing of the content.
    @Test(
        arguments: [
            ("absent.pem", "a.pem", "a.key", "'absent.pem' (trustRoots) cannot be read: No such file or directory."),
            ("", "a.pem", "a.key", "'' (trustRoots) cannot be read"),
            ("empty.pem", "a.pem", "a.key", "'empty.pem' (trustRoots) is empty."),
            ("a.key", "a.pem", "a.key", "'a.key' (trustRoots) contains no certificate in PEM format."),
            ("large.pem", "a.pem", "a.key", "'large.pem' (trustRoots) is too large. The limit is 1048576 bytes."),
            ("ca.pem", "text.pem", "a.key", "'text.pem' (certificate) contains no certificate in PEM format."),
            ("ca.pem", "a.pem", "absent.key", "'absent.key' (key) cannot be read: No such file or directory."),
            ("ca.pem", "a.pem", "a.pem", "'a.pem' (key) contains no private key in PEM format."),
            ("ca.pem", "a.pem", "locked.key", "'locked.key' (key) contains an encrypted key."),
            ("ca.pem", "a.pem", "other.key", "'other.key' (key) does not match the first certificate of 'a.pem'."),
            ("ca.pem", "a.pem", TestCertificates.clientKey, "PEM text as a path (key) is not a path."),
        ]
    )
    func unusableFileIsNamed(_ roots: String, _ certificate: String, _ key: String, _ message: String) throws {
        let files = [
            "ca.pem": TestCertificates.server, "a.pem": TestCertificates.client, "a.key": TestCertificates.clientKey,
            "other.key": TestCertificates.serverKey, "locked.key": TestCertificates.encryptedKey, "empty.pem": "",
            "text.pem": "Not a certificate.", "large.pem": String(repeating: "x", count: (1 << 20) + 1),
        ]
        try withFolder(files) { folder in
            func pem(_ name: String) -> HTTPClientTransport.PEM { .file(name.contains("BEGIN") ? name : folder + name) }
            let error = #expect(throws: TransportError.self) {
                _ = try HTTPClientTransport.TLS(trustRoots: pem(roots), certificate: pem(certificate), key: pem(key))
            }
            #expect(error?.code == .tls)
            let found = error?.message.replacing(folder, with: "") ?? ""
            #expect(found.contains(message), "\(found)")
            #expect(!found.contains("MI") && !found.contains("BEGIN"))
        }
    }

    @Test func descriptionsShowNoSecret() throws {
        let configuration = HTTPClientTransport.Configuration(
            tls: try .init(
                trustRoots: .text(TestCertificates.server),
                certificate: .text(TestCertificates.client),
                key: .text(TestCertificates.clientKey)
            ),
            proxy: .init(host: "proxy.example", port: 3128, credentials: .init(user: "ada", password: "hunter2"))
        )
        var dumped = ""
        dump(configuration, to: &dumped)
        dump(HTTPClientTransport.PEM.text(TestCertificates.clientKey), to: &dumped)
        dump(configuration.proxy?.credentials as Any, to: &dumped)
        for text in ["\(configuration)", String(reflecting: configuration), dumped] {
            #expect(text.contains("proxy.example"))
            #expect(!text.contains("hunter2") && !text.contains("MIG") && !text.contains("BEGIN"), "\(text)")
        }
    }

    // MARK: Proxies

    @Test(arguments: ["http", "https"]) func connectionsGoThroughTheProxy(_ scheme: String) async throws {
        let roots = try HTTPClientTransport.TLS(trustRoots: .text(TestCertificates.server))
        let context = scheme == "https" ? try TestCertificates.serverContext() : nil
        try await CuttingOrigin.with(tls: context) { _ in
            .respond(CuttingOrigin.ok)
        } _: { origin in
            try await TunnelProxy.with(requiring: "Basic YWRhOmh1bnRlcjI=") { proxy in
                let settings = HTTPClientTransport.Proxy(
                    host: "127.0.0.1",
                    port: proxy.port,
                    credentials: .init(user: "ada", password: "hunter2")
                )
                try await withTransport(tls: roots, proxy: settings) { transport in
                    #expect(await errors(transport, scheme, origin.port).allSatisfy { $0 == nil })
                }
                #expect(Set(proxy.targets) == ["127.0.0.1:\(origin.port)"])
                // A tunnel that no request needed may end before the origin accepts its connection.
                #expect(proxy.targets.count >= origin.connectionCount && origin.connectionCount > 0)
                #expect(origin.requests.allSatisfy { $0.value("proxy-authorization") == nil })
            }
        }
    }

    @Test func rejectedProxyCredentialsAreAnErrorWithoutThem() async throws {
        try await CuttingOrigin.with { _ in
            .respond(CuttingOrigin.ok)
        } _: { origin in
            try await TunnelProxy.with(requiring: "Basic YWRhOmh1bnRlcjI=") { proxy in
                for credentials in [nil, HTTPClientTransport.Proxy.Credentials(user: "ada", password: "guess")] {
                    let settings = HTTPClientTransport.Proxy(
                        host: "127.0.0.1",
                        port: proxy.port,
                        credentials: credentials
                    )
                    try await withTransport(proxy: settings) { transport in
                        let errors = await errors(transport, "http", origin.port)
                        #expect(errors.allSatisfy { $0?.code == .connect })
                        #expect(
                            errors.allSatisfy { $0?.message.contains("The proxy rejected the credentials") == true }
                        )
                        #expect(errors.allSatisfy { !"\($0.debugDescription)".contains("guess") })
                    }
                }
                #expect(origin.connectionCount == 0)
                // A rejection is final: no request was tried twice.
                #expect(proxy.targets.count <= 60)
            }
        }
    }

    @Test func originIsUnreachableIfTheProxyIs() async throws {
        let held = try HeldPort()
        try await withTransport(proxy: .init(host: "127.0.0.1", port: UInt16(held.port))) { transport in
            #expect(await errors(transport, "http", 80).allSatisfy { $0?.code == .connect })
        }
        try await TunnelProxy.with { proxy in
            try await withTransport(proxy: .init(host: "127.0.0.1", port: proxy.port)) { transport in
                // The proxy responds with 502.
                #expect(await errors(transport, "http", held.port).allSatisfy { $0?.code == .connect })
            }
        }
    }
}
