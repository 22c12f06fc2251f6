import Foundation
import SampleOrigin
import TestSupport
import Testing

/// The gateway's health on its own port, with the built command.
@Suite(.timeLimit(.minutes(20))) struct HealthPathTests {
    private func write(_ folder: PurgedGateway.Folder, _ origin: RunningOrigin) throws {
        try folder.write(origin, "health: {path: /healthz}")
    }

    private func status(_ port: Int, _ path: String = "/healthz") async throws -> String {
        let response = try await ServerProcess.get(path, at: port, host: "any.test")
        let line = response.prefix { $0 != "\r\n" }
        return "\(line.dropFirst(9).prefix(3)) \(response.split(separator: "\r\n\r\n").last ?? "")"
    }

    @Test func isServedWithoutAControlPlane() async throws {
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                try write(folder, origin)
                let ending = try await ServerProcess.with(["--config", folder.file, "--no-control"]) { port in
                    let ready = "200 {\"status\":\"ok\"}\n"
                    try await withThrowingTaskGroup(of: String.self) { group in
                        for _ in 0..<30 { group.addTask { try await status(port) } }
                        for try await text in group { #expect(text == ready) }
                    }
                }
                #expect(ending.status == 0)
            }
        }
    }

    @Test(.enabled(if: Tool.hasCurl, "/usr/bin/curl is a client"))
    func saysWhatTheControlPlaneSaysInOneWord() async throws {
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                try write(folder, origin)
                try await PurgedGateway.with(folder) { gateway in
                    #expect(try await status(gateway.server.port) == "200 {\"status\":\"ok\"}\n")
                    let mode = try await gateway.run(["mode", "offline", "--for", "1h"])
                    #expect(mode.status == 0, "\(mode.error)")
                    #expect(try await status(gateway.server.port) == "200 {\"status\":\"degraded\"}\n")
                    let reply = try await gateway.curl("/healthz")
                    #expect(reply.status == 200 && reply.json["status"] as? String == "degraded")
                }
            }
        }
    }

    /// A process that drains is alive: a restart would end its requests. But it gets no new ones.
    @Test func drainingGatewayIsAliveButNotReady() async throws {
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                try folder.write(origin, "health: {live: /live, ready: /ready}\ndrain: {delay: 10 m}")
                // The signal at the end skips the delay.
                let ending = try await PurgedGateway.with(folder) { gateway in
                    let port = gateway.server.port
                    func expect(_ live: String, _ ready: String) async throws {
                        try await withThrowingTaskGroup(of: Void.self) { clients in
                            for _ in 0..<30 {
                                clients.addTask {
                                    let found = (try await status(port, "/live"), try await status(port, "/ready"))
                                    #expect(found.0 == live && found.1 == ready, "\(found)")
                                }
                            }
                            try await clients.waitForAll()
                        }
                    }
                    let fine = "200 {\"status\":\"ok\"}\n"
                    try await expect(fine, fine)
                    // The gateway can still serve, so it should get requests.
                    #expect(try await gateway.run(["mode", "offline", "--for", "1h"]).status == 0)
                    try await expect(fine, "200 {\"status\":\"degraded\"}\n")
                    gateway.server.signal(SIGTERM)
                    _ = await gateway.server.log.line(containing: "Stopping")
                    try await expect(fine, "503 {\"status\":\"ending\"}\n")
                }
                #expect(ending.status == 0)
            }
        }
    }
}
