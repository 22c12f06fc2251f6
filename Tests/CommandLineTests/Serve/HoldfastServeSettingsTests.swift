import Foundation
import SampleOrigin
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20))) struct HoldfastServeSettingsTests {
    private static let holdfast = Tool("holdfast")

    private func withFile(_ text: String, _ body: (String, String) async throws -> Void) async throws {
        try await TemporaryFolder.with { folder in
            let file = folder.appendingPathComponent("holdfast.yaml")
            try Data(text.utf8).write(to: file)
            try await body(file.path, folder.path)
        }
    }

    @Test func commandLineOverridesEnvironmentAndEnvironmentOverridesFile() async throws {
        try await SampleOrigin.withOrigin { one in
            try await SampleOrigin.withOrigin { two in
                let text = """
                    version: 1
                    listen: 127.0.0.1:0
                    mode: offline
                    threads: 1
                    store: {path: of-the-file}
                    routes: [{origin: "http://127.0.0.1:1"}]
                    """
                try await withFile(text) { file, folder in
                    var environment = ["HOLDFAST_CONFIG": file, "HOLDFAST_ORIGIN": "", "HOLDFAST_THREADS": "2"]
                    func response(_ arguments: [String]) async throws -> String {
                        var response = ""
                        let ending = try await RunningServer.with(arguments, environment: environment) { server in
                            response = try await ServerProcess.get("/respond?body=\(arguments.count)", at: server.port)
                            server.signal(SIGTERM)
                        }
                        #expect(ending.status == 0)
                        return response
                    }
                    let ofFile = try await response([])
                    #expect(ofFile.hasPrefix("HTTP/1.1 504 ") && ofFile.contains("offline-miss"))
                    environment["HOLDFAST_ORIGIN"] = one.baseURL
                    environment["HOLDFAST_MODE"] = "online"
                    environment["HOLDFAST_STORE"] = folder + "/of-the-environment"
                    #expect(try await response([]).hasSuffix("0") && one.requestCount == 1)
                    let flags = ["--origin", two.baseURL, "--store", folder + "/of-the-command-line"]
                    #expect(try await response(flags).hasSuffix("4") && two.requestCount == 1 && one.requestCount == 1)
                    let stores = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
                    #expect(
                        stores == ["holdfast.yaml", "of-the-command-line", "of-the-environment", "of-the-file"]
                    )
                }
            }
        }
    }

    @Test(arguments: [
        ("HOLDFAST_THREADS", "0", "from 1 to 1024"), ("HOLDFAST_THREADS", "two", "from 1 to 1024"),
        ("HOLDFAST_MODE", "sometimes", "online, automatic, preferStored, offline"),
        ("HOLDFAST_ACCESS_LOG", "some", "off, notable, all"), ("HOLDFAST_LOG_FORMAT", "xml", "text, json"),
        ("HOLDFAST_LISTEN", "here", "HOST:PORT"), ("HOLDFAST_ORIGIN", "ftp://a.example", "http or https"),
    ])
    func namesAnInvalidVariable(variable: String, value: String, allowed: String) async throws {
        let environment = ["HOLDFAST_ORIGIN": "http://127.0.0.1:1", "HOLDFAST_STORE": "nowhere/store"]
            .merging([variable: value]) { $1 }
        let outcome = try await Self.holdfast.run(arguments: ["serve"], environment: environment)
        #expect(outcome.status == 1 && outcome.text == "")
        #expect(outcome.error.contains("'\(variable)' in the environment"))
        #expect(outcome.error.contains("'\(value)'") && outcome.error.contains(allowed))
    }

    @Test(arguments: [
        ("--threads", "0", "from 1 to 1024"), ("--threads", "two", "from 1 to 1024"), ("--listen", "here", "HOST:PORT"),
        ("--listen", "127.0.0.1:99999", "is too large. The limit is 65535."),
        ("--origin", "ftp://a.example", "http or https"), ("--mode", "sometimes", "preferStored"),
        ("--access-log", "some", "notable"), ("--log-level", "loud", "notice"), ("--log-format", "xml", "json"),
    ])
    func namesAnInvalidOption(option: String, value: String, allowed: String) async throws {
        let environment = ["HOLDFAST_ORIGIN": "http://127.0.0.1:1", "HOLDFAST_STORE": "nowhere/store"]
        let outcome = try await Self.holdfast.run(arguments: ["serve", option, value], environment: environment)
        #expect(outcome.status == 64 && outcome.text == "")
        #expect(outcome.error.contains(option) && outcome.error.contains(value) && outcome.error.contains(allowed))
    }

    @Test(arguments: [
        ("threads: 0", "threads", "1 to 1024"), ("clients: {trusted: [10.0.0.1/8]}", "clients.trusted", "10.0.0.0/8"),
        ("clients: {cache-status: nobody}", "clients.cache-status", "everyone or trusted"),
        ("clients: {request-id: always}", "clients.request-id", "on or off"),
        ("limits: {connections-per-client: 0}", "limits.connections-per-client", "from 1"),
    ])
    func namesTheLineOfAnInvalidSetting(line: String, setting: String, allowed: String) async throws {
        let text = "version: 1\nstore: {path: a.store}\nroutes: [{origin: 'http://127.0.0.1:1'}]\n\(line)\n"
        try await withFile(text) { file, _ in
            let outcome = try await Self.holdfast.run("serve", "--config", file)
            #expect(outcome.status == 1 && outcome.text == "")
            #expect(outcome.error.contains("holdfast.yaml:4: \(setting): ") && outcome.error.contains(allowed))
        }
    }

    @Test(arguments: [12, 24, 40])
    func rejectsTooFewOpenFilesBeforeCreatingTheStore(openFiles: Int) async throws {
        try await TemporaryFolder.with { folder in
            let store = folder.appendingPathComponent("store").path
            // Few connections need no more than the gateway itself does.
            let file = folder.appendingPathComponent("holdfast.yaml")
            let text = "version: 1\nstore: {path: '\(store)'}\nlimits: {connections: 10}\n"
            try Data((text + "routes: [{origin: 'http://127.0.0.1:1'}]\n").utf8).write(to: file)
            let arguments = ["serve", "--config", file.path, "--listen", "127.0.0.1:0", "--threads", "2"]
            let outcome = try await Self.holdfast.run(arguments: arguments, openFiles: openFiles)
            #expect(outcome.status == 1 && outcome.text == "", "\(outcome)")
            #expect(outcome.error.contains("The limit of open files is \(openFiles);"), "\(outcome)")
            #expect(outcome.error.contains("at least 80"), "\(outcome)")
            #expect(outcome.error.contains("'ulimit -n'") && outcome.error.contains("'--threads 2'"))
            #expect(!FileManager.default.fileExists(atPath: store))
        }
    }

    @Test func helpNamesEveryVariable() async throws {
        let help = try await Self.holdfast.run("serve", "--help").text
        for name in ["CONFIG", "ORIGIN", "LISTEN", "STORE", "MODE", "THREADS"] {
            #expect(help.contains("HOLDFAST_\(name) ") && help.contains("as --\(name.lowercased())"))
        }
    }
}
