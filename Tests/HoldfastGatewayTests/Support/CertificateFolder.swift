import Foundation
import HoldfastConfiguration
import NIOSSL
import TestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A folder with certificates that 'openssl' makes for one test.
struct CertificateFolder: Sendable {
    struct Failure: Error {
        let command: String
        let output: String
    }

    let path: String

    static func with<Value>(_ body: (CertificateFolder) async throws -> Value) async throws -> Value {
        try await TemporaryFolder.with { try await body(CertificateFolder(path: $0.path)) }
    }

    func file(_ name: String) -> String { path + "/" + name }

    /// Writes a file. Only its owner can read a key.
    func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: URL(filePath: file(name)))
        if name.hasSuffix(".key") { chmod(file(name), 0o600) }
    }

    func text(_ name: String) throws -> String { try String(contentsOfFile: file(name), encoding: .utf8) }

    /// Makes `NAME.pem` and `NAME.key`, signed by itself.
    ///
    /// - Parameter names: `DNS:a.example,DNS:*.b.example`
    @discardableResult
    func make(_ name: String, _ names: String, rsa: Bool = false) throws -> Configuration.TLS.Certificate {
        try run("req -x509 \(Self.newKey(rsa)) -keyout \(name).key -out \(name).pem -days 90", name, names)
        return files(name)
    }

    func files(_ name: String) -> Configuration.TLS.Certificate {
        Configuration.TLS.Certificate(name: name, chain: file("\(name).pem"), key: file("\(name).key"))
    }

    /// Makes `NAME.pem` and `NAME.key`, signed by the key of another certificate.
    @discardableResult
    func sign(_ name: String, by issuer: String, days: Int = 90) throws -> Configuration.TLS.Certificate {
        try run("req \(Self.newKey(false)) -keyout \(name).key -out \(name).csr", name)
        try run(
            "x509 -req -in \(name).csr -CA \(issuer).pem -CAkey \(issuer).key -CAcreateserial -days \(days) -out \(name).pem"
        )
        return files(name)
    }

    /// Runs 'openssl' on files of the folder.
    func convert(_ words: String) throws { try run(words) }

    private static func newKey(_ rsa: Bool) -> String {
        "-nodes -newkey " + (rsa ? "rsa:2048" : "ec -pkeyopt ec_paramgen_curve:prime256v1")
    }

    private func run(_ words: String, _ subject: String? = nil, _ names: String? = nil) throws {
        var command = "openssl " + words
        if let subject { command += " -subj /CN=\(subject)" }
        if let names { command += " -addext 'subjectAltName=\(names)'" }
        let log = file("openssl.log")
        var child: pid_t = 0
        let arguments = ["/bin/sh", "-c", "cd '\(path)' && \(command) >'\(log)' 2>&1"]
        var pointers: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
        defer { for pointer in pointers { free(pointer) } }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        closeDescriptors(from: 3, in: &actions)
        try #require(posix_spawn(&child, "/bin/sh", &actions, nil, &pointers, environ) == 0)
        var status: CInt = 0
        while waitpid(child, &status, 0) < 0, errno == EINTR {}
        guard status == 0 else {
            throw Failure(command: command, output: (try? String(contentsOfFile: log, encoding: .utf8)) ?? "")
        }
    }

    /// The first certificate of a file.
    func certificate(_ name: String) throws -> NIOSSLCertificate {
        try #require(NIOSSLCertificate.fromPEMFile(file("\(name).pem")).first)
    }

    /// The settings of a client that trusts these certificates.
    func client(
        trusting names: String...,
        as own: String? = nil,
        from least: TLSVersion = .tlsv12,
        to most: TLSVersion? = nil
    ) throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = .certificates(try names.map { try certificate($0) })
        configuration.certificateVerification = .noHostnameVerification
        configuration.minimumTLSVersion = least
        configuration.maximumTLSVersion = most
        if let own {
            configuration.certificateChain = [.certificate(try certificate(own))]
            configuration.privateKey = .privateKey(try NIOSSLPrivateKey(file: file("\(own).key"), format: .pem))
        }
        return try NIOSSLContext(configuration: configuration)
    }
}
