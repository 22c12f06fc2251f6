import Foundation
import Testing

/// Commands that ask a gateway whose process is stopped, as by SIGSTOP.
@Suite(.timeLimit(.minutes(20)))
struct StoppedGatewayTests {
    @Test func everyCommandEndsWithTheNextStep() async throws {
        try await PurgedGateway.withOrigin { gateway, _ in
            gateway.server.signal(SIGSTOP)
            defer { gateway.server.signal(SIGCONT) }
            let commands = [
                ["status"], ["reload"], ["try", "http://a.test/"], ["origins"], ["mode"], ["staleness"], ["inspect"],
                ["fleet", "status"], ["purge", "--all"], ["pin", "http://a.test/"],
            ]
            for command in commands {
                let outcome = try await gateway.run(command + ["--timeout", "1"])
                #expect(outcome.status == 1 && outcome.text.isEmpty, "\(command) \(outcome)")
                #expect(outcome.error.contains(" within 1 s. Its process may be stopped"), "\(command) \(outcome)")
                #expect(outcome.error.contains("'--timeout'"), "\(command) \(outcome)")
            }
        }
    }

    /// A purge may wait for minutes, but only at a gateway that responds.
    @Test func purgeAsksFirstWhetherTheGatewayResponds() async throws {
        try await PurgedGateway.withOrigin { gateway, _ in
            gateway.server.signal(SIGSTOP)
            defer { gateway.server.signal(SIGCONT) }
            let outcome = try await gateway.run(["purge", "--all"])
            #expect(outcome.status == 1 && outcome.error.contains("GET /v1/mode within 10 s."), "\(outcome)")
        }
    }

    @Test(arguments: ["0", "3601", "-1", "soon"]) func timeoutIsANumberOfSeconds(_ value: String) async throws {
        let outcome = try await Tool("holdfast").run("status", "--socket", "/nowhere", "--timeout=\(value)")
        #expect(outcome.status == 64 && outcome.error.contains("timeout"), "\(outcome)")
    }

    @Test func negativeTimeoutNamesTheRange() async throws {
        let outcome = try await Tool("holdfast").run("status", "--socket", "/nowhere", "--timeout", "-5")
        #expect(outcome.status == 64 && outcome.error.contains("from 1 to 3600, not '-5'."), "\(outcome)")
    }
}
