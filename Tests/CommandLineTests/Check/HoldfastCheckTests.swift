import Foundation
import SampleOrigin
import TestSupport
import Testing

/// `holdfast check` sees what `holdfast serve` needs.
@Suite(.timeLimit(.minutes(20))) struct HoldfastCheckTests {
    private func check(_ text: String, _ prepare: (URL) throws -> Void = { _ in }) async throws -> Tool.Outcome {
        try await TemporaryFolder.with { folder in
            let file = folder.appendingPathComponent("holdfast.yaml")
            try Data("version: 1\n\(text)\n".utf8).write(to: file)
            try prepare(folder)
            let before = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            let outcome = try await Tool("holdfast")
                .run(arguments: ["check", "--config", file.path], environment: ["HOLDFAST_STORE": ""])
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == before, "nothing is created")
            return outcome
        }
    }

    private static let routes = "routes: [{name: api, origin: \"https://api.example.com/v1\"}]"
    private static let store = "store: {path: new/a.store, budget: 64 MiB}"

    @Test func endsWithValidAndASummary() async throws {
        let outcome = try await check(
            "\(Self.store)\n\(Self.routes)\nrules: [{name: a, match: {url: /v1/a}, bypass: true}]"
        )
        #expect(outcome.status == 0 && outcome.error.isEmpty, "\(outcome.error)")
        let last = outcome.lines.last ?? ""
        #expect(last.contains("holdfast.yaml' is valid: 1 route, 1 rule, store '"), "\(last)")
        #expect(last.hasSuffix("new/a.store' with 64 MiB."), "\(last)")
        let without = try await check(Self.routes)
        #expect(without.status == 0 && without.lines.last?.hasSuffix("0 rules, no store, 1 warning.") == true)
        #expect(without.error.hasPrefix("warning: ") && without.error.contains("store.path: It is not set: "))
        #expect(without.error.contains("Set 'store: {path: FOLDER}'."), "\(without.error)")
    }

    @Test func fileOfAGatewayWithoutRoutesIsReported() async throws {
        let outcome = try await check("listen: 127.0.0.1:0\n\(Self.store)")
        #expect(outcome.status == 0 && outcome.lines.last?.contains("is valid: 0 routes") == true, "\(outcome)")
        let words = "routes: There are no routes, so 'holdfast serve' starts only with '--origin' or HOLDFAST_ORIGIN."
        #expect(outcome.error.hasPrefix("warning: ") && outcome.error.contains(words), "\(outcome)")
        // A file of the library, or of a recording.
        let library = try await check(Self.store)
        #expect(library.status == 0 && library.error.isEmpty, "\(library)")
        let proxy = try await check(
            "listen: 127.0.0.1:0\n\(Self.store)\nforward-proxy: {hosts: [a.example], allow: [10.0.0.0/8]}"
        )
        #expect(proxy.status == 0 && proxy.error.isEmpty, "\(proxy)")
    }

    @Test func summaryCountsRoutesWithoutOrigin() async throws {
        let outcome = try await check(
            "\(Self.store)\nroutes: [{path: /a, respond: {status: 404}}, {path: /b, respond: {status: 410}}]"
        )
        #expect(outcome.status == 0 && outcome.error.isEmpty, "\(outcome)")
        #expect(outcome.lines.last?.contains("is valid: 2 routes, 0 rules") == true, "\(outcome)")
    }

    /// Neither token is shown.
    @Test(arguments: ["read", "purge", "operate"]) func tokenForMetricsIsNoneOfTheControlPlane(scope: String)
        async throws
    {
        let secret = String(repeating: "c3", count: 32)
        let tokens = "control: {listen: 127.0.0.1:0, tokens: [{name: deploy, file: one.token, scope: \(scope)}]}"
        let outcome = try await check(
            "\(Self.store)\n\(Self.routes)\n\(tokens)\nmetrics: {listen: 127.0.0.1:0, token: two.token}"
        ) { folder in
            for name in ["one.token", "two.token"] {
                let file = folder.appendingPathComponent(name)
                try Data(secret.utf8).write(to: file)
                try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
            }
        }
        let words = "metrics.token: The token of 'metrics.token' is also the token 'deploy' of the control plane"
        #expect(outcome.status == 1 && outcome.error.contains(words), "\(outcome)")
        #expect(!outcome.error.contains(secret))
    }

    @Test func tokenInThePlaceOfItsFileIsNotShown() async throws {
        let secret = String(repeating: "c3", count: 32)
        let rule = "rules: [{match: {url: /v1/a}, to-origin: {set: {Authorization: {file: \(secret)}}}}]"
        for setting in [
            "control: {listen: 127.0.0.1:0, tokens: [{name: deploy, file: \(secret), scope: read}]}",
            "metrics: {listen: 127.0.0.1:0, token: \(secret)}", rule,
        ] {
            let outcome = try await check("\(Self.store)\n\(Self.routes)\n\(setting)")
            #expect(outcome.status == 1 && outcome.error.contains("/…' cannot be opened"), "\(outcome)")
            #expect(!(outcome.error + outcome.text).contains(secret))
        }
    }

    /// Mutants: the store is not looked at; the tokens are not; the log's folder is not.
    @Test(arguments: [
        ("store: {path: file, budget: 64 MiB}", "store.path: 'FOLDER/file' is not a store: it is a file"),
        ("store: {path: foreign, budget: 64 MiB}", "store.path: 'FOLDER/foreign' is not a store"),
        ("store: {path: a, budget: 1 MiB}", "store.budget: 1 MiB is too small for a store. The minimum is 4 MiB."),
        (
            "store: {path: a}\nlog: {access: all, to: none/access.log}",
            "log.to: The folder 'FOLDER/none' does not exist. Create it."
        ),
        (
            "store: {path: a}\nlog: {access: all, to: foreign}",
            "log.to: 'FOLDER/foreign' is a folder. Write the path of a file, such as 'FOLDER/foreign/access.log'."
        ),
        (
            "store: {path: a}\nrules: [{match: {url: /v1/a}, to-origin: {set: {Authorization: {env: ghp_hunter2hunter2}}}}]",
            "'Authorization': The environment has no such variable."
        ),
        (
            "store: {path: a}\nfleet: {url: 'redis://127.0.0.1', namespace: n, secret: {env: ghp_hunter2hunter2}}",
            "fleet.secret: The environment has no such variable."
        ),
        (
            "store: {path: a}\nlisten: [{unix: none/http.sock}]",
            "listen: The Unix socket 'FOLDER/none/http.sock' cannot be created: No such file or directory."
        ),
        (
            "store: {path: a}\ncontrol: {socket: none/control.sock}",
            "control.socket: The control socket 'FOLDER/none/control.sock' cannot be created: No such file or directory."
        ),
        (
            "store: {path: a}\ncontrol: {socket: \(String(repeating: "s", count: 120))}",
            "control.socket: The path of the control socket 'FOLDER/sss"
        ),
        (
            "store: {path: a}\nlog: {access: all, to: a}",
            "log.to: 'FOLDER/a' is the folder of the store ('store.path'). Write the path of a file."
        ),
        (
            "store: {path: a}\ncontrol: {socket: foreign}",
            "control.socket: 'FOLDER/foreign' is a folder. Set the path of a socket, such as 'FOLDER/foreign/holdfast.sock', with"
        ),
        ("store: {path: a}\ncontrol: {socket: file}", "control.socket: 'FOLDER/file' is not a socket."),
        (
            "store: {path: a}\ncontrol: {listen: 127.0.0.1:0, tokens: [{name: t, file: open.token, scope: read}]}",
            "control.tokens: The token file 'FOLDER/open.token' is accessible to other users (mode 0644)"
        ),
        (
            "store: {path: a}\ncontrol: {listen: 127.0.0.1:0, tokens: [{name: t, file: none.token, scope: read}]}",
            "control.tokens: The token file 'FOLDER/none.token' cannot be opened"
        ),
        (
            "store: {path: a}\nlisten: 192.0.2.1:8080",
            "listen: '192.0.2.1:8080' cannot be used: this machine has no address '192.0.2.1'."
        ),
        (
            "store: {path: a}\norigins: {\"https://api.example.com\": {ca: none.pem}}",
            "origin 'https://api.example.com': 'FOLDER/none.pem' cannot be opened"
        ),
        (
            "store: {path: a}\nrules: [{match: {url: \"https://other.example/**\"}, bypass: true}]",
            "matches nothing, because no route leads to this origin"
        ),
    ])
    func whatServeCouldNotUseIsAnError(_ text: String, _ message: String) async throws {
        var place = ""
        let outcome = try await check("\(Self.routes)\n\(text)") { folder in
            place = folder.path
            let token = folder.appendingPathComponent("open.token")
            try Data(String(repeating: "a1", count: 32).utf8).write(to: token)
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: token.path)
            try Data().write(to: folder.appendingPathComponent("file"))
            let foreign = folder.appendingPathComponent("foreign")
            try FileManager.default.createDirectory(at: foreign, withIntermediateDirectories: false)
            try Data("notes".utf8).write(to: foreign.appendingPathComponent("notes.txt"))
        }
        #expect(outcome.status == 1 && outcome.text.isEmpty, "\(outcome)")
        #expect(outcome.error.contains(message.replacing("FOLDER", with: place)), "\(outcome.error)")
        #expect(!outcome.error.contains("hunter2"))
    }

    /// A name may be an IPv4 or an IPv6 address.
    @Test func addressUnderAnotherNameIsAnError() async throws {
        let port = try ListeningSocket().port
        let listen = "[127.0.0.1:\(port), \"[::1]:\(port)\"]"
        let text = "\(Self.store)\n\(Self.routes)\nlisten: \(listen)\ncontrol: {listen: \"localhost:\(port)\"}"
        let words = "control.listen: 'localhost:\(port)' is "
        let outcome = try await check(text)
        #expect(outcome.status == 1 && outcome.error.contains(words), "\(outcome)")
        #expect(outcome.error.contains(", also in 'listen' (line 4)"), "\(outcome)")
        try await TemporaryFolder.with { folder in
            let file = folder.appendingPathComponent("holdfast.yaml")
            try Data("version: 1\n\(text)\n".utf8).write(to: file)
            let serve = try await Tool("holdfast").run("serve", "--config", file.path)
            #expect(serve.status == 1 && serve.output.isEmpty && serve.error.contains(words), "\(serve)")
            #expect(!serve.error.contains("Cancellation"))
        }
    }

    /// Mutant: the size of the disk is not compared.
    @Test func storeThatIsLargerThanTheMachineIsAWarning() async throws {
        let outcome = try await check("store: {path: new/a.store, budget: 900 TiB, memory: 900 TiB}\n\(Self.routes)")
        #expect(outcome.status == 0, "\(outcome)")
        let lines = outcome.error.split(separator: "\n")
        #expect(lines.count == 2 && lines.allSatisfy { $0.hasPrefix("warning: ") }, "\(outcome.error)")
        #expect(outcome.error.contains(":2: store.budget: 943718400 MiB is more than the disk has: "))
        #expect(outcome.error.contains(":2: store.memory: 943718400 MiB is more memory than the machine has: "))
    }

    /// A service manager creates folders in '/run' when it starts the gateway.
    @Test func missingFolderOfTheServiceManagerIsAWarning() async throws {
        let name = "/run/none-\(getpid())/http.sock"
        let outcome = try await check("\(Self.store)\n\(Self.routes)\nlisten: [{unix: \(name)}]")
        #expect(outcome.status == 0, "\(outcome.error)")
        #expect(outcome.error.hasPrefix("warning: ") && outcome.error.contains("'\(name)' cannot be created"))
    }

    #if os(Linux)
        /// Permissions do not say that '/proc' rejects new folders.
        @Test func folderThatCannotBeCreatedIsAnError() async throws {
            let outcome = try await check("store: {path: /proc/x, budget: 64 MiB}\n\(Self.routes)")
            #expect(outcome.status == 1 && outcome.error.contains("store.path: "), "\(outcome)")
            #expect(outcome.error.contains("'/proc', which the store '/proc/x' needs"), "\(outcome.error)")
        }
    #endif

    @Test func settingsWithoutEffectAreWarnings() async throws {
        try await SampleOrigin.withOrigin { origin in
            let port = origin.baseURL.split(separator: ":").last ?? ""
            let rules =
                "rules: [{name: fits, match: {url: /v1/a}, store: {largest: 8 MiB}}, {name: big, store: {largest: 8388609 B}}]"
            let outcome = try await check("listen: \"127.0.0.1:\(port)\"\n\(Self.store)\n\(Self.routes)\n\(rules)")
            #expect(outcome.status == 0, "\(outcome.error)")
            let lines = outcome.error.split(separator: "\n")
            #expect(lines.count == 2 && lines.allSatisfy { $0.hasPrefix("warning: ") }, "\(outcome.error)")
            #expect(
                outcome.error.contains("rule 'big': store.largest: It has no effect: a body may have at most 8 MiB")
            )
            #expect(outcome.error.contains("listen: Another process listens on '127.0.0.1:\(port)'."))
            #expect(outcome.lines.last?.hasSuffix("with 64 MiB, 2 warnings.") == true)
        }
    }

    @Test func ruleWithoutANameIsNamedByItsNumber() async throws {
        let rules = "rules: [{match: {url: /v1/a}, store: {largest: 8 MiB}}, {store: {largest: 8388609 B}}]"
        let outcome = try await check("\(Self.store)\n\(Self.routes)\n\(rules)")
        #expect(outcome.status == 0 && outcome.error.contains("rule 2: store.largest: It has no effect"), "\(outcome)")
    }

    /// The gateway that is checked uses its own port.
    @Test func portsOfTheRunningGatewayAreNotReported() async throws {
        try await PurgedGateway.withOrigin { gateway, origin in
            let text = try String(contentsOfFile: gateway.folder.file, encoding: .utf8)
            let fixed = text.replacing("127.0.0.1:0", with: "127.0.0.1:\(gateway.server.port)")
            try Data(fixed.utf8).write(to: URL(fileURLWithPath: gateway.folder.file))
            let outcome = try await Tool("holdfast").run("check", "--config", gateway.folder.file)
            #expect(outcome.status == 0 && outcome.error.isEmpty, "\(outcome.error)")
        }
    }
}
