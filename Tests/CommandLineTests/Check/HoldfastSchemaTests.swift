import Foundation
import SampleOrigin
import TestSupport
import Testing

/// `holdfast schema`, and configurations of several files with variables, in the built program.
@Suite(.timeLimit(.minutes(20))) struct HoldfastSchemaTests {
    @Test func schemaIsOneJSONObject() async throws {
        let outcome = try await Tool("holdfast").run("schema")
        #expect(outcome.status == 0 && outcome.error.isEmpty)
        let schema = try #require(try JSONSerialization.jsonObject(with: outcome.output) as? [String: Any])
        #expect(schema["$schema"] as? String == "https://json-schema.org/draft/2020-12/schema")
        #expect(schema["additionalProperties"] as? Bool == false)
        let settings = try #require(schema["properties"] as? [String: Any])
        for name in ["version", "include", "store", "routes", "rules", "origins", "fleet"] {
            #expect(settings[name] != nil, "\(name)")
        }
        let again = try await Tool("holdfast").run("schema")
        #expect(again.output == outcome.output)
        let help = try await Tool("holdfast").run("schema", "--help")
        #expect(help.text.contains("JSON Schema 2020-12"))
        #expect(try await Tool("holdfast").run("schema", "extra").status == 64)
    }

    private static let main = """
        version: 1
        include: conf.d/*.yaml
        store: {path: "${STORE}", budget: "${SIZE}"}

        """
    private static let included = """
        version: 1
        routes: [{name: api, host: "${HOST}", origin: "https://${HOST}"}]

        """

    private func check(_ environment: [String: String], _ included: String = included) async throws -> Tool.Outcome {
        try await TemporaryFolder.with { folder in
            let conf = folder.appendingPathComponent("conf.d")
            try FileManager.default.createDirectory(at: conf, withIntermediateDirectories: true)
            let file = folder.appendingPathComponent("holdfast.yaml")
            try Data(Self.main.utf8).write(to: file)
            try Data(included.utf8).write(to: conf.appendingPathComponent("api.yaml"))
            return try await Tool("holdfast").run(
                arguments: ["check", "--config", file.path],
                environment: environment
            )
        }
    }

    @Test func checkShowsReferencesAndPlaces() async throws {
        let outcome = try await check(["STORE": "hushed.store", "SIZE": "623 MiB", "HOST": "hushed.example"])
        #expect(outcome.status == 0, "\(outcome.error)")
        #expect(outcome.text.contains("${SIZE}  (line 3)") && outcome.text.contains("conf.d/api.yaml:2)"))
        #expect(outcome.text.contains("https://${HOST}"))
        #expect(outcome.lines.last?.hasSuffix("store '${STORE}' with ${SIZE}.") == true, "\(outcome.text)")
        for value in ["hushed", "623"] { #expect(!(outcome.text + outcome.error).contains(value), "\(outcome.text)") }
    }

    @Test func checkNamesTheVariableTheSettingAndTheLine() async throws {
        let unset = try await check(["STORE": "a.store", "SIZE": "64 MiB"])
        #expect(unset.status == 1)
        #expect(unset.error.contains("conf.d/api.yaml:2: route 'api': host: The environment has no variable 'HOST'."))
        let wrong = try await check(["STORE": "a.store", "SIZE": "hushed", "HOST": "a.example"])
        #expect(wrong.status == 1 && wrong.error.contains("holdfast.yaml:3: store.budget: '${SIZE}' is not a number"))
        #expect(!wrong.error.contains("hushed"))
        let twice = try await check(
            ["STORE": "a.store", "SIZE": "1 GiB", "HOST": "a"],
            "version: 1\nstore: {budget: 1 GiB}"
        )
        #expect(twice.status == 1)
        #expect(twice.error.contains("conf.d/api.yaml:2: store.budget: It is already set at "), "\(twice.error)")
        #expect(twice.error.contains("holdfast.yaml:3. Remove one of them."))
    }

    @Test func reloadReadsIncludedFilesAgain() async throws {
        try await SampleOrigin.withOrigin { origin in
            try await TemporaryFolder.with { folder in
                let file = folder.appendingPathComponent("holdfast.yaml")
                let rules = folder.appendingPathComponent("rules.yaml")
                let text = """
                    version: 1
                    include: rules.yaml
                    listen: 127.0.0.1:0
                    store: {path: a.store, memory: "${MEMORY}"}
                    routes: [{origin: "${ORIGIN}"}]
                    """
                try Data(text.utf8).write(to: file)
                try Data("version: 1\n".utf8).write(to: rules)
                let environment = ["ORIGIN": "\(origin.baseURL)", "MEMORY": "1234 KiB", "LIFE": "5 m"]
                _ = try await RunningServer.with(["--config", file.path], environment: environment) { server in
                    let client = try server.connect()
                    client.get("/respond?body=first")
                    #expect(await client.read(until: "first").hasPrefix("HTTP/1.1 200 "))
                    let rule = "version: 1\nrules: [{match: {url: /respond}, freshness: {lifetime: \"${LIFE}\"}}]"
                    try Data(rule.utf8).write(to: rules)
                    server.signal(SIGHUP)
                    #expect(await server.log.line(containing: "Configuration reloaded").contains("rules=1"))
                    client.get("/respond?body=second")
                    #expect(await client.read(until: "second").contains("stored"))
                    client.get("/respond?body=second")
                    #expect(await client.read(until: "second").contains("holdfast; hit"))

                    try Data("version: 1\nmode: ${NONE}".utf8).write(to: rules)
                    server.signal(SIGHUP)
                    let rejected = await server.log.line(containing: "Configuration rejected")
                    #expect(rejected.contains("rules.yaml:2: mode: The environment has no variable 'NONE'"))

                    try Data("version: 1\n".utf8).write(to: rules)
                    try Data(text.replacing("${MEMORY}", with: "${LIFE}").utf8).write(to: file)
                    server.signal(SIGHUP)
                    let wrong = await server.log.line(containing: "Configuration rejected")
                    #expect(wrong.contains("store.memory") && wrong.contains("'${LIFE}'") && !wrong.contains("5 m"))

                    try Data(text.replacing("${MEMORY}", with: "2 MiB").utf8).write(to: file)
                    server.signal(SIGHUP)
                    let kept = await server.log.line(containing: "Setting needs a restart")
                    #expect(kept.contains("store.memory") && kept.contains("${MEMORY}") && !kept.contains("1234"))
                    server.signal(SIGTERM)
                }
            }
        }
    }
}
