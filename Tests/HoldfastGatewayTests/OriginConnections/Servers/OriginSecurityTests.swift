import HoldfastConfiguration
import HoldfastGateway
import HoldfastTesting
import NIOSSL
import Testing

/// TLS towards origins that have settings of it, on real sockets.
@Suite(.timeLimit(.minutes(20))) struct OriginSecurityTests {
    /// A server that demands certificates of clients.
    private static func server(_ folder: CertificateFolder, _ name: String, demanding client: String? = nil) throws
        -> NIOSSLContext
    {
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: [.certificate(try folder.certificate(name))],
            privateKey: .privateKey(try NIOSSLPrivateKey(file: folder.file("\(name).key"), format: .pem))
        )
        if let client {
            configuration.trustRoots = .certificates([try folder.certificate(client)])
            configuration.certificateVerification = .noHostnameVerification
        }
        return try NIOSSLContext(configuration: configuration)
    }

    private static func settings(
        _ origin: RawOrigin,
        _ folder: CertificateFolder,
        ca: String? = "server",
        client: String? = nil,
        name: String = "origin.example"
    ) -> Configuration.Origin {
        var result = Configuration.Origin(url: "https://\(name)")
        result.addresses = [origin.authority]
        result.tls.roots = ca.map { folder.file("\($0).pem") }
        if let client {
            (result.tls.certificate, result.tls.key) = (folder.file("\(client).pem"), folder.file("\(client).key"))
        }
        return result
    }

    private func with(
        _ settings: Configuration.Origin,
        _ body: (RunningGateway) async throws -> Void
    ) async throws {
        try await RunningGateway.with(origin: settings.url, configureTransport: { $0.origins = [settings] }, body)
    }

    /// Thirty clients connect at once.
    /// Mutants: the private root is not used; the certificate of the client is not sent.
    @Test func privateRootAndClientCertificateReachServerThatDemandsBoth() async throws {
        try await CertificateFolder.with { folder in
            try folder.make("server", "DNS:origin.example")
            try folder.make("client", "DNS:gateway.example")
            try folder.make("other", "DNS:origin.example")
            try folder.make("rsa", "DNS:gateway.example", rsa: true)
            let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { .ok($0.target) }
            try await RawOrigin.with(tls: Self.server(folder, "server", demanding: "client"), respond: respond) {
                origin in
                try await with(Self.settings(origin, folder, client: "client")) { gateway in
                    try await withThrowingTaskGroup(of: RawResponse.self) { group in
                        for number in 0..<30 { group.addTask { try await gateway.get("/\(number)") } }
                        for try await response in group { #expect(response.status == 200) }
                    }
                    #expect(origin.requests.allSatisfy { $0.values("host") == ["origin.example"] })
                }
                let reached = origin.requests.count
                for settings in [
                    Self.settings(origin, folder), Self.settings(origin, folder, client: "other"),
                    Self.settings(origin, folder, ca: "other", client: "client"),
                    Self.settings(origin, folder, ca: nil, client: "client"),
                    Self.settings(origin, folder, client: "client", name: "wrong.example"),
                ] {
                    try await with(settings) { gateway in
                        let response = try await gateway.get("/a")
                        #expect(response.status >= 502, "\(settings) \(response)")
                    }
                }
                #expect(origin.requests.count == reached, "no request passed")
            }
            try await RawOrigin.with(tls: Self.server(folder, "server", demanding: "rsa"), respond: respond) { origin in
                try await with(Self.settings(origin, folder, client: "rsa")) { gateway in
                    let replyOne = try await gateway.get("/a")
                    #expect(replyOne.text == "/a")
                }
            }
        }
    }

    @Test func httpsOriginWhoseNameDoesNotResolveIsUnreachable() async throws {
        try await with(Configuration.Origin(url: "https://nowhere.invalid")) { gateway in
            let response = try await gateway.get("/a")
            #expect(response.status == 504)
        }
    }

    /// Without verification, any certificate is accepted.
    /// Mutant: 'server-name' is not sent.
    @Test func serverNameIsUsedInTLSAndHostStays() async throws {
        try await CertificateFolder.with { folder in
            try folder.make("server", "DNS:other.example")
            try await RawOrigin.with(tls: Self.server(folder, "server"), respond: { _ in .ok("a") }) { origin in
                var settings = Self.settings(origin, folder)
                settings.tls.serverName = "other.example"
                try await with(settings) { gateway in
                    let response = try await gateway.get("/a")
                    #expect(response.text == "a")
                }
                #expect(origin.requests.last?.values("host") == ["origin.example"])
                settings.tls = .init()
                settings.tls.isVerified = false
                try await with(settings) { gateway in
                    let response = try await gateway.get("/a")
                    #expect(response.text == "a")
                }
            }
        }
    }

    /// A certificate for the address of a name, or with the name as its common name, is another's.
    /// Mutant: a certificate for the address speaks for the name.
    @Test func rejectsCertificatesForAddressOrCommonName() async throws {
        try await CertificateFolder.with { folder in
            try folder.make("address", "IP:127.0.0.1")
            try folder.make("root", "DNS:root.example")
            // Without alternative names.
            try folder.sign("origin.example", by: "root")
            for (certificate, root) in [("address", "address"), ("origin.example", "root")] {
                let tls = try Self.server(folder, certificate)
                try await RawOrigin.with(tls: tls, respond: { .ok($0.target) }) { origin in
                    try await with(Self.settings(origin, folder, ca: root)) { gateway in
                        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                            for number in 0..<30 { group.addTask { try await gateway.get("/\(number)").status } }
                            return try await group.reduce(into: []) { $0.append($1) }
                        }
                        #expect(statuses.allSatisfy { $0 >= 502 }, "\(certificate): \(statuses)")
                    }
                    #expect(origin.requests.isEmpty)
                    guard certificate == "address" else { return }
                    var settings = Configuration.Origin(url: origin.url)
                    settings.tls.roots = folder.file("address.pem")
                    try await with(settings) { gateway in
                        let response = try await gateway.get("/a")
                        #expect(response.text == "/a")
                    }
                }
            }
        }
    }

    /// A connection from before takes no further request.
    /// Mutant: a connection from before the change takes requests.
    @Test func readsChangedFilesAgainAndRetiresOldConnections() async throws {
        try await CertificateFolder.with { folder in
            try folder.make("server", "DNS:origin.example")
            try folder.make("other", "DNS:origin.example")
            try folder.write(folder.text("other.pem"), to: "ca.pem")
            try await RawOrigin.with(tls: Self.server(folder, "server"), respond: { .ok($0.target) }) { origin in
                try await with(Self.settings(origin, folder, ca: "ca")) { gateway in
                    let replyOne = try await gateway.get("/a")
                    #expect(replyOne.status >= 502)
                    try folder.write(folder.text("server.pem"), to: "ca.pem")
                    gateway.transport.reloadCertificates(.changed)
                    let replyTwo = try await gateway.get("/b")
                    #expect(replyTwo.text == "/b")
                    let count = origin.connectionCount
                    // The same bytes change nothing.
                    gateway.transport.reloadCertificates(.all)
                    let replyThree = try await gateway.get("/c")
                    #expect(replyThree.text == "/c" && origin.connectionCount == count)
                    try folder.write("nothing", to: "ca.pem")
                    gateway.transport.reloadCertificates(.changed)
                    let replyFour = try await gateway.get("/d")
                    #expect(replyFour.text == "/d" && origin.connectionCount == count)
                    try folder.write(folder.text("other.pem"), to: "ca.pem")
                    gateway.transport.reloadCertificates(.changed)
                    let replyFive = try await gateway.get("/e")
                    #expect(replyFive.status >= 502)
                    #expect(origin.requests.last?.target == "/d")
                }
            }
        }
    }

    @Test func unusableFilesRejectStartAndChangeNamingOriginAndFile() async throws {
        try await CertificateFolder.with { folder in
            try folder.make("one", "DNS:a.example")
            try folder.make("two", "DNS:a.example")
            var settings = Configuration.Origin(url: "https://a.example")
            settings.tls.certificate = folder.file("one.pem")
            settings.tls.key = folder.file("two.key")
            let failure = await #expect(throws: OriginTransport.FileFailure.self) {
                try await with(settings) { _ in }
            }
            #expect(
                failure?.description.hasPrefix(
                    "Origin 'https://a.example': '\(folder.file("two.key"))' contains a key that does not match"
                ) == true
            )
            try await with(Configuration.Origin(url: "https://a.example")) { gateway in
                var configuration = OriginTransport.Configuration()
                settings.tls.roots = folder.file("missing.pem")
                configuration.origins = [settings]
                let routes = GatewayRoutes(origin: try GatewayOrigin("https://a.example"))
                let failure = #expect(throws: OriginTransport.FileFailure.self) {
                    try gateway.transport.prepare(for: routes, configuration)
                }
                #expect(failure?.description.contains("missing.pem' cannot be opened") == true)
            }
        }
    }
}
