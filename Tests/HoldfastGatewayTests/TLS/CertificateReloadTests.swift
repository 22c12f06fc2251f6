import Foundation
import HTTPCache
import HTTPCacheSemantics
import HoldfastConfiguration
import HoldfastMetrics
import HoldfastTesting
import Logging
import NIOCore
import NIOSSL
import TLSCertificates
import TestSupport
import Testing

@testable import HoldfastGateway

/// Certificates that are replaced while a gateway runs.
@Suite(.timeLimit(.minutes(20))) struct CertificateReloadTests {
    private static let request = "GET /a HTTP/1.1\r\nHost: a.example\r\n\r\n"

    private func withGateway(
        _ tls: Configuration.TLS,
        _ body: (RunningGateway) async throws -> Void
    ) async throws {
        let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { _ in
            .ok("v1", fields: "Cache-Control: max-age=60\r\n")
        }
        try await RawOrigin.with([], respond: respond) { origin in
            try await RunningGateway.with(
                origin: origin.url,
                configure: { $0.listeners = [.address(ListenAddress(host: "127.0.0.1", port: 0), tls: tls)] },
                body
            )
        }
    }

    /// The certificate that a new client gets.
    private func served(_ gateway: RunningGateway, _ context: NIOSSLContext) async throws -> NIOSSLCertificate? {
        try await RawClient.with(port: gateway.port, tls: .init(context)) { client in
            try await client.send(Self.request)
            #expect(try await client.response().status == 200)
            return try await client.peerCertificate()
        }
    }

    /// Puts the files of one certificate in the place of another one's.
    private func replace(_ name: String, by other: String, in folder: CertificateFolder) throws {
        for ending in ["key", "pem"] { try folder.write(folder.text("\(other).\(ending)"), to: "\(name).\(ending)") }
    }

    /// Later clients get the new certificate.
    /// Mutant: a listener keeps the certificates with which it began.
    @Test func reloadUnderLoadLosesNoConnectionAndNoRequest() async throws {
        try await CertificateFolder.with { folder in
            try folder.make("one", "DNS:a.example")
            try folder.make("two", "DNS:a.example")
            let tls = Configuration.TLS(certificates: [try folder.make("a", "DNS:a.example")])
            let (one, two) = (try folder.certificate("one"), try folder.certificate("two"))
            try replace("a", by: "one", in: folder)
            let context = try folder.client(trusting: "one", "two")
            try await withGateway(tls) { gateway in
                let (ends, kept, new) = (Counter(), Counter(), Counter())
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<15 {
                        group.addTask {
                            try await RawClient.with(port: gateway.port, tls: .init(context)) { client in
                                while ends.value == 0, !Task.isCancelled {
                                    try await client.send(Self.request)
                                    #expect(try await client.response().text == "v1")
                                    kept.add(1)
                                }
                            }
                        }
                        group.addTask {
                            while ends.value == 0, !Task.isCancelled {
                                try await RawClient.with(port: gateway.port, tls: .init(context)) { client in
                                    try await client.send(Self.request)
                                    #expect(try await client.response().text == "v1")
                                }
                                new.add(1)
                            }
                        }
                    }
                    for round in 1...20 {
                        try replace("a", by: round.isMultiple(of: 2) ? "one" : "two", in: folder)
                        gateway.server.reloadCertificates(round.isMultiple(of: 3) ? .all : .changed)
                        let certificate = try await self.served(gateway, context)
                        #expect(certificate == (round.isMultiple(of: 2) ? one : two), "round \(round)")
                    }
                    ends.add(1)
                    try await group.waitForAll()
                }
                #expect(kept.value > 0 && new.value > 0)
            }
        }
    }

    /// Mutant: the certificate is replaced before its key is compared.
    @Test func unusableFilesChangeNothingAndCauseEventAndMetric() async throws {
        try await CertificateFolder.with { folder in
            let log = CapturedLog()
            let desk = CertificateRegistry(clock: SystemWallClock(), logger: log.logger())
            let files = try folder.make("a", "DNS:a.example")
            try folder.make("other", "DNS:other.example")
            let listener = try desk.open(Configuration.TLS(certificates: [files]))
            func isCurrent() -> Bool { listener.state[0].isCurrent }
            let (chain, key, expiry) = (try folder.text("a.pem"), try folder.text("a.key"), listener.state[0].expiry)
            desk.reload(.changed)
            #expect(log.lines.isEmpty && isCurrent())

            let otherKey = try folder.text("other.key")
            let faults: [(String, String, String)] = [
                ("a.key", otherKey, "does not match the first certificate"), ("a.key", "", "contains no private key"),
                ("a.pem", "", "contains no certificate"),
                ("a.pem", String(chain.prefix(200)), "contains no certificate"),
                (
                    "a.key", "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIGH\n-----END ENCRYPTED PRIVATE KEY-----\n",
                    "contains an encrypted key"
                ),
            ]
            for (file, text, reason) in faults {
                try folder.write(text, to: file)
                desk.reload(.changed)
                let event = try #require(log.take().last)
                let line = event.line
                #expect(event.level == .error && line.hasPrefix("Certificate rejected"), "\(event)")
                #expect(line.contains(reason), "\(line)")
                #expect(line.contains(folder.file(file)) && line.contains("tls.certificate=a"), "\(line)")
                #expect(!line.contains(otherKey.split(separator: "\n")[1]))
                #expect(!isCurrent() && listener.state[0].expiry == expiry)
                // Said once for each change.
                desk.reload(.changed)
                #expect(log.take().isEmpty)
                try folder.write(chain, to: "a.pem")
                try folder.write(key, to: "a.key")
                desk.reload(.all)
                #expect(isCurrent() && log.take().count == 1)
            }
            try FileManager.default.removeItem(atPath: files.key)
            desk.reload(.all)
            #expect(log.take().last?.line.contains("cannot be opened: No such file") == true && !isCurrent())
            let family = try #require(
                desk.families().first { $0.description.name == "holdfast_tls_certificate_last_reload_successful" }
            )
            #expect(family.series.count == 1)
        }
    }

    /// As 'holdfast check' does. Mutant: dates are not looked at.
    @Test func expiredCertificateIsRejectedUntilItIsValid() async throws {
        try await withExpired { registry, listener, files, clock, log in
            let (expiry, start) = (listener.state[0].expiry, clock.now())
            clock.advance(by: .seconds(2 * 86_400 + 3600))
            registry.reload(.changed)
            let event = try #require(log.take().last)
            #expect(event.level == .error && event.message.hasPrefix("Certificate rejected"), "\(event)")
            #expect(event.line.contains("expired 1 day ago"), "\(event)")
            #expect(!listener.state[0].isCurrent && listener.state[0].expiry == expiry)
            #expect(registry.rejectedFiles == ["'\(files.chain)' expired 1 day ago. Renew it."])
            registry.reload(.changed)
            #expect(log.take().isEmpty, "it is said once")
            // The clock was wrong.
            clock.set(to: start)
            registry.reload(.changed)
            #expect(listener.state[0].isCurrent && listener.state[0].expiry != expiry)
            #expect(registry.rejectedFiles.isEmpty)
        }
    }

    /// Clients reject both, so nothing is lost.
    @Test func expiredCertificateReplacesAnExpiredOne() async throws {
        try await withExpired { registry, listener, _, clock, log in
            let expiry = listener.state[0].expiry
            clock.advance(by: .seconds(500 * 86_400))
            registry.reload(.changed)
            let event = try #require(log.take().last)
            #expect(event.level == .warning, "\(event)")
            #expect(event.message.hasPrefix("Certificate read, but clients reject it"), "\(event)")
            #expect(listener.state[0].isCurrent && listener.state[0].expiry != expiry)
        }
    }

    /// Opens a certificate for 400 days, and puts one for a day in its place. The clock shows the
    /// time at which both were made.
    private func withExpired(
        _ body: (
            CertificateRegistry, ListenerTLS, Configuration.TLS.Certificate, ManualClock, CapturedLog
        ) throws -> Void
    ) async throws {
        try await CertificateFolder.with { folder in
            try folder.make("ca", "DNS:ca.example")
            try folder.sign("long", by: "ca", days: 400)
            try folder.sign("short", by: "ca", days: 1)
            let start = Timestamp(seconds: Int64(try folder.certificate("short").notValidBefore))
            let (clock, log, files) = (ManualClock(start), CapturedLog(), folder.files("a"))
            try replace("a", by: "long", in: folder)
            let registry = CertificateRegistry(clock: clock, logger: log.logger())
            let listener = try registry.open(Configuration.TLS(certificates: [files]))
            try replace("a", by: "short", in: folder)
            try body(registry, listener, files, clock, log)
        }
    }

    @Test func datesOfACertificateAreInclusive() async throws {
        try await CertificateFolder.with { folder in
            let files = try folder.make("a", "DNS:a.example")
            let pair = try CertificatePair(files)
            let begin = Int64(pair.chain[0].notValidBefore)
            let cases: [(Int64, String?)] = [
                (begin - 1, "is not valid yet. Check this machine's clock."), (begin, nil), (pair.expiry - 1, nil),
                (pair.expiry, "expired less than a day ago. Renew it."),
                (pair.expiry + 86_400, "expired 1 day ago. Renew it."),
            ]
            for (now, words) in cases {
                let refusal = pair.refusalOfDates(in: files.chain, at: now)
                #expect(refusal?.description == words.map { "'\(files.chain)' \($0)" })
            }
        }
    }

    @Test func newRootsJudgeClientsIncludingThoseWithEarlierSession() async throws {
        try await CertificateFolder.with { folder in
            var tls = Configuration.TLS(certificates: [try folder.make("a", "DNS:a.example")])
            try folder.make("one", "DNS:one.example")
            try folder.make("two", "DNS:two.example")
            try folder.make("ca", "DNS:ca.example")
            try folder.sign("c", by: "one")
            try folder.write(folder.text("one.pem"), to: "ca.pem")
            tls.client = .init(roots: folder.file("ca.pem"))
            let context = try folder.client(trusting: "a", as: "c")
            try await withGateway(tls) { gateway in
                _ = try await served(gateway, context)
                try folder.write("", to: "ca.pem")
                gateway.server.reloadCertificates(.changed)
                _ = try await served(gateway, context)
                try folder.write(folder.text("two.pem"), to: "ca.pem")
                gateway.server.reloadCertificates(.changed)
                try await RawClient.with(port: gateway.port, tls: .init(context)) { client in
                    try? await client.send(Self.request)
                    let status = try? await client.response().status
                    #expect(status == nil)
                }
            }
        }
    }

    @Test func noticesChangedFilesAtTheNextCheck() async throws {
        try await CertificateFolder.with { folder in
            try folder.make("two", "DNS:a.example")
            let tls = Configuration.TLS(certificates: [try folder.make("a", "DNS:a.example")])
            let context = try folder.client(trusting: "a", "two")
            let two = try folder.certificate("two")
            try await withGateway(tls) { gateway in
                let watch = CertificateWatch(gateway.server, every: .milliseconds(1))
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { await watch.run() }
                    try replace("a", by: "two", in: folder)
                    while try await served(gateway, context) != two { try Task.checkCancellation() }
                    group.cancelAll()
                }
            }
        }
    }

    @Test func gatewayWithUnusableCertificatesNamesTheFileAndDoesNotStart() async throws {
        try await CertificateFolder.with { folder in
            let missing = Configuration.TLS.Certificate(
                name: "m",
                chain: folder.file("m.pem"),
                key: folder.file("m.key")
            )
            await #expect {
                try await withGateway(Configuration.TLS(certificates: [missing])) { _ in }
            } throws: { error in
                "\(error)" == "'\(folder.file("m.pem"))' cannot be opened: No such file or directory."
            }
        }
    }
}
