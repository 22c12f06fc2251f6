import FleetTier
import Foundation
import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import RedisTier

/// TLS towards a real `redis-server`, with certificates of openssl.
@Suite(.timeLimit(.minutes(20))) struct RedisTLSTests {
    private let loop = MultiThreadedEventLoopGroup.singleton.next()

    /// Runs a server with TLS that asks for a client's certificate.
    private func withServer(
        _ arguments: [String] = [],
        _ body: (_ folder: String, _ port: Int) async throws -> Void
    ) async throws {
        try await TemporaryFolder.with { url in
            let folder = url.path
            for name in ["server", "client", "other"] { try await Self.makeCertificate(name, in: folder) }
            // Another process may take the port before the server does.
            for attempt in 1... {
                let port = try ScriptedPeer.freePort()
                let server = RedisServer(
                    in: folder,
                    [
                        "--tls-port", "\(port)", "--bind", "127.0.0.1", "--tls-cert-file", "\(folder)/server.pem",
                        "--tls-key-file", "\(folder)/server.key", "--tls-ca-cert-file", "\(folder)/client.pem",
                    ] + arguments
                )
                do {
                    try await server.start()
                } catch is RedisServer.StartError where attempt < 20 {
                    continue
                }
                do {
                    try await body(folder, port)
                } catch {
                    try await server.kill()
                    throw error
                }
                return try await server.kill()
            }
        }
    }

    private static func makeCertificate(_ name: String, in folder: String) async throws {
        let log = "\(folder)/openssl.log"
        try #require(FileManager.default.createFile(atPath: log, contents: nil))
        let output = try #require(FileHandle(forWritingAtPath: log))
        let openssl = try ChildProcess(
            URL(fileURLWithPath: "/usr/bin/openssl"),
            [
                "req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-keyout",
                "\(folder)/\(name).key", "-out", "\(folder)/\(name).pem", "-days", "90", "-subj", "/CN=\(name)",
                "-addext", "subjectAltName=DNS:\(name).example",
            ],
            output: output.fileDescriptor,
            error: output.fileDescriptor
        )
        let ending = try await openssl.end()
        try #require(ending.status == 0, "\((try? String(contentsOfFile: log, encoding: .utf8)) ?? "")")
    }

    /// The reply to a command, or the code of the error.
    private func reply(_ folder: String, _ port: Int, trusting: String, client: String?, name: String?) async throws
        -> String
    {
        var settings = RedisConnectionSettings.patient(.tcp(host: "127.0.0.1", port: port))
        settings.tls = try RedisTLS(
            trustRootsFile: "\(folder)/\(trusting).pem",
            certificateFile: client.map { "\(folder)/\($0).pem" },
            keyFile: client.map { "\(folder)/\($0).key" },
            serverName: name
        )
        do throws(RedisTierError) {
            let (connection, _) = try await RedisConnection.connect(settings, on: loop)
            let body = ByteBuffer(repeating: 0x62, count: 200_000)
            let set = try await connection.execute(RedisCommand("SET", "k", .bytes(body)), within: .patient)
            let get = try await connection.execute(RedisCommand("GET", "k"), within: .patient)
            connection.close()
            return get == .bulkString(body) ? set.text ?? "" : "another value"
        } catch {
            return "\(error.code)"
        }
    }

    @Test func certificatesDecideWhoIsSpokenTo() async throws {
        try await withServer { folder, port async throws in
            for (trusting, client, name, expected) in [
                ("server", "client", "server.example", "OK"),
                // The certificate has another name, or no address.
                ("server", "client", "else.example", "unreachable"),
                ("server", "client", nil, "unreachable"),
                // It is not trusted.
                ("other", "client", "server.example", "unreachable"),
                // The server rejects a client without the right certificate.
                ("server", nil, "server.example", "unreachable"),
                ("server", "other", "server.example", "unreachable"),
            ] as [(String, String?, String?, String)] {
                let reply = try await reply(folder, port, trusting: trusting, client: client, name: name)
                #expect(reply == expected, "\(trusting) \(client ?? "-") \(name ?? "-")")
            }
        }
    }

    /// Mutant: `tls-files-are-read-once`.
    @Test func newConnectionsUseReplacedCertificates() async throws {
        try await withServer { folder, port async throws in
            func tls(_ client: String) throws -> RedisTLS {
                try RedisTLS(
                    trustRootsFile: "\(folder)/server.pem",
                    certificateFile: "\(folder)/\(client).pem",
                    keyFile: "\(folder)/\(client).key",
                    serverName: "server.example"
                )
            }
            var settings = RedisConnectionSettings.patient(.unix(path: "/"))
            settings.tls = try tls("other")
            let connector = try RedisConnector(
                RedisAddress(url: "rediss://127.0.0.1:\(port)"),
                settings: settings,
                password: nil,
                on: MultiThreadedEventLoopGroup.singleton
            )
            let error = await #expect(throws: RedisTierError.self) { try await connector.connect() }
            #expect(error?.code == .unreachable)
            connector.replaceTLS(with: try tls("client"))
            let connection = try await connector.connect()
            let reply = try await connection.execute(RedisCommand("PING"), within: .patient)
            #expect(reply.text == "PONG")
            connection.close()
        }
    }

    @Test func addressWithTLSAndAUserIsConnectedTo() async throws {
        try await withServer(["--user", "holdfast", "on", ">correct horse", "~*", "+@all"]) {
            folder,
            port async throws in
            for (password, isRight) in [("correct horse", true), ("wrong", false)] {
                var settings = RedisConnectionSettings.patient(.unix(path: "/"))
                settings.tls = try RedisTLS(
                    trustRootsFile: "\(folder)/server.pem",
                    certificateFile: "\(folder)/client.pem",
                    keyFile: "\(folder)/client.key",
                    serverName: "server.example"
                )
                let connector = try RedisConnector(
                    RedisAddress(url: "rediss://holdfast@127.0.0.1:\(port)"),
                    settings: settings,
                    password: password,
                    on: MultiThreadedEventLoopGroup.singleton
                )
                guard isRight else {
                    let error = await #expect(throws: RedisTierError.self) { try await connector.connect() }
                    #expect(error?.code == .rejected)
                    continue
                }
                let connection = try await connector.connect()
                let user = try await connection.execute(RedisCommand("ACL", "WHOAMI"), within: .patient)
                #expect(user.text == "holdfast")
                connection.close()
            }
        }
    }

    /// A cluster names its nodes by the port of TLS to a client with TLS.
    @Test func clusterIsReachedWithTLS() async throws {
        let bus = try ScriptedPeer.freePort()
        let arguments = ["--cluster-enabled", "yes", "--cluster-port", "\(bus)", "--tls-cluster", "yes"]
        try await withServer(arguments) { folder, port async throws in
            var settings = RedisConnectionSettings.patient(.tcp(host: "127.0.0.1", port: port))
            settings.tls = try RedisTLS(
                trustRootsFile: "\(folder)/server.pem",
                certificateFile: "\(folder)/client.pem",
                keyFile: "\(folder)/client.key",
                serverName: "server.example"
            )
            let (connection, _) = try await RedisConnection.connect(settings, on: loop)
            _ = try await connection.execute(RedisCommand("CLUSTER", "ADDSLOTSRANGE", 0, 16_383), within: .patient)
            while try await connection.execute(RedisCommand("CLUSTER", "INFO"), within: .patient).text?
                .contains("cluster_state:ok") != true
            { await Task.yield() }
            connection.close()
            let connector = try RedisConnector(
                RedisAddress(url: "rediss+cluster://127.0.0.1:\(port)"),
                settings: settings,
                password: nil,
                on: MultiThreadedEventLoopGroup.singleton
            )
            let values = RedisValues.forTests(connector)
            let task = Task { await values.run() }
            let limit = Duration.seconds(1200)
            let (name, value) = (ValueName("hf1:test:{key}:e"), SampleValue.value(at: 1))
            try await waitUntil {
                (try? await values.put(value, as: name, for: limit, releasing: nil, within: limit)) == true
            }
            #expect(try await values.values([name], within: limit) == [value])
            task.cancel()
            await task.value
        }
    }

    @Test func plainTextToATLSPortIsUnreachable() async throws {
        try await withServer { _, port async throws in
            let error = await #expect(throws: RedisTierError.self) {
                try await RedisConnection.connect(.patient(.tcp(host: "127.0.0.1", port: port)), on: loop)
            }
            #expect(error?.code == .unreachable || error?.code == .malformed)
        }
    }
}
