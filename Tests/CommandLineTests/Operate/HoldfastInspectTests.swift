import Foundation
import SampleOrigin
import TestSupport
import Testing

/// The page of the built gateway: who gets it, and by what.
@Suite(.timeLimit(.minutes(20)), .enabled(if: Tool.hasCurl, "/usr/bin/curl is a client")) struct HoldfastInspectTests {
    /// Runs a gateway with a port.
    private func withPort(_ body: (PurgedGateway, _ port: Int) async throws -> Void) async throws {
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                try folder.write(origin, "control: {listen: 127.0.0.1:0}\ndrain: {delay: off}")
                origin.respond("v1")
                let environment = ["RUNTIME_DIRECTORY": ""]
                _ = try await RunningServer.with(["--config", folder.file], environment: environment) { server in
                    var line = ""
                    while !line.contains("http://127.0.0.1:") {
                        line = await server.log.line(containing: "controlled by")
                    }
                    let port = try #require(line.split(separator: ":").last.flatMap { Int($0.dropLast()) }, "\(line)")
                    try await body(PurgedGateway(folder: folder, server: server), port)
                    server.signal(SIGTERM)
                }
            }
        }
    }

    private struct Reply {
        var status: Int
        var head: String
        var content: String
        var json: [String: Any] {
            (try? JSONSerialization.jsonObject(with: Data(content.utf8)) as? [String: Any]) ?? [:]
        }
    }

    private func send(
        _ method: String,
        _ path: String,
        to port: Int,
        host: String? = nil,
        _ fields: String = "",
        content: String = ""
    ) async throws -> Reply {
        var head = "\(method) \(path) HTTP/1.1\r\nHost: \(host ?? "127.0.0.1:\(port)")\r\n\(fields)"
        if !content.isEmpty { head += "Content-Type: application/json\r\nContent-Length: \(content.utf8.count)\r\n" }
        let text = try await ServerProcess.send(head + "Connection: close\r\n\r\n" + content, to: port)
        let end = try #require(text.range(of: "\r\n\r\n"), "\(text)")
        let status = try #require(Int(text.dropFirst(9).prefix(3)), "\(text)")
        return Reply(status: status, head: String(text[..<end.lowerBound]), content: String(text[end.upperBound...]))
    }

    private func code(of url: String, port: Int) throws -> String {
        let parts = url.components(separatedBy: "/#code=")
        try #require(parts.count == 2 && parts[0] == "http://127.0.0.1:\(port)", "\(url)")
        return parts[1].trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Does what a page does, and what others must not.
    private func visit(_ port: Int, code: String) async throws {
        let page = try await send("GET", "/", to: port)
        #expect(page.status == 200 && page.head.contains("Content-Security-Policy: default-src 'none'; "), "\(page)")
        for field in ["Referrer-Policy: no-referrer", "X-Content-Type-Options: nosniff", "Cache-Control: no-store"] {
            #expect(page.head.contains("\r\n\(field)"), "\(page.head)")
        }
        #expect(page.content.lowercased().contains("<!doctype html>") && !page.content.contains(code))
        #expect(try await send("GET", "/page/index.html", to: port).status == 200)
        #expect(try await send("GET", "/favicon.ico", to: port).status == 204)
        // Whether a file is there can be asked without its content; all else needs a token.
        for (path, status) in [("/", 200), ("/page/app.js", 200), ("/page/nothing.js", 404), ("/v1/overview", 401)] {
            let whole = try await send("GET", path, to: port)
            let head = try await send("HEAD", path, to: port)
            #expect(head.status == status && head.content.isEmpty, "\(head)")
            #expect(head.head.contains("Content-Length: \(whole.content.utf8.count)"), "\(head)")
        }
        for path in ["/page/nothing.js", "/page/..%2fPageAssets.swift"] {
            #expect(try await send("GET", path, to: port).status == 404)
        }
        // A rebound name, and a page of another origin.
        #expect(try await send("GET", "/", to: port, host: "rebound.test").status == 421)
        let foreign = "Origin: http://a.test\r\n"
        #expect(try await send("GET", "/", to: port, foreign).status == 403)
        let exchange = "{\"code\":\"\(code)\"}"
        #expect(try await send("POST", "/v1/sessions", to: port, foreign, content: exchange).status == 403)
        #expect(try await send("POST", "/v1/sessions", to: port, host: "rebound.test", content: exchange).status == 421)
        #expect(try await send("GET", "/v1/overview", to: port).status == 401)
        let own = "Origin: http://127.0.0.1:\(port)\r\n"
        let session = try await send("POST", "/v1/sessions", to: port, own, content: exchange)
        let token = try #require(session.json["token"] as? String, "\(session)")
        #expect(session.json["scope"] as? String == "operate")
        #expect((session.json["client"] as? String)?.hasPrefix("uid ") == true)
        let again = try await send("POST", "/v1/sessions", to: port, content: exchange)
        #expect(again.status == 401 && again.content.contains("urn:holdfast:problem:code-not-valid"), "\(again)")
        let bearer = "Authorization: Bearer \(token)\r\n"
        let overview = try await send("GET", "/v1/overview", to: port, bearer)
        #expect(overview.status == 200 && overview.json["responsesFrom"] as? String == "origin", "\(overview)")
        #expect((overview.json["summary"] as? String)?.hasPrefix("Serving.") == true)
        #expect(try await send("GET", "/v1/history?window=day", to: port, bearer).json["stepSeconds"] as? Int == 300)
        #expect(try await send("GET", "/v1/history?window=week", to: port, bearer).status == 400)
        #expect(try await send("GET", "/v1/sessions", to: port, bearer).json["expiresAt"] is String)
        // A session is no source of further ones.
        let further = try await send("POST", "/v1/inspections", to: port, bearer, content: "{}")
        #expect(further.json["code"] == nil && further.json["url"] == nil, "\(further)")
        let purge = #"{"select": {"all": true}}"#
        #expect(try await send("POST", "/v1/purges", to: port, bearer, content: purge).status == 200)
        #expect(try await send("DELETE", "/v1/sessions", to: port, bearer).json["ended"] as? Bool == true)
        #expect(try await send("GET", "/v1/overview", to: port, bearer).status == 401)
    }

    @Test func portServesThePageAndItsSession() async throws {
        try await withPort { gateway, port in
            let outcome = try await gateway.run(["inspect"])
            #expect(outcome.status == 0, "\(outcome)")
            try await visit(port, code: try code(of: outcome.text, port: port))
            let first = try await gateway.run(["inspect", "--format", "json"]).objects().first
            let report = try #require(first)
            #expect((report["code"] as? String)?.utf8.count == 32 && report["expiresAt"] is String)
            let relay = try await gateway.run(["inspect", "--port", "0"])
            #expect(relay.status == 1 && relay.output.isEmpty && relay.error.contains("Omit '--port'."), "\(relay)")
            // The token of a client makes a session of its scope, and none makes none.
            #expect(try await send("POST", "/v1/inspections", to: port, content: "{}").status == 401)
        }
    }

    @Test func overviewSaysWhatTheServiceStandsOn() async throws {
        try await PurgedGateway.withOrigin { gateway, origin in
            try await gateway.warm([.init(path: "/news/1")])
            await origin.stop()
            for number in 0..<3 { _ = try await gateway.get("/missing/\(number)") }
            let overview = try await gateway.curl("/v1/overview").json
            #expect(overview["responsesFrom"] as? String == "store" && overview["unreachableCount"] as? Int == 1)
            let control = overview["control"] as? [String: Any]
            #expect(control?["socket"] as? String == gateway.folder.socket && control?["listen"] == nil)
            var responses: Int?
            while responses != 1 {
                responses =
                    (try await gateway.curl("/v1/overview").json["store"] as? [String: Any])?["responses"] as? Int
            }
            let outages = { try await gateway.curl("/v1/outages").json["outages"] as? [[String: Any]] ?? [] }
            var seen: [[String: Any]] = []
            while seen.isEmpty { seen = try await outages() }
            #expect(seen.count == 1 && seen[0]["origin"] as? String == origin.baseURL && seen[0]["until"] == nil)
            let again = try await gateway.curl("/v1/overview").json
            #expect((again["outage"] as? [String: Any])?["refused"] is Int, "\(again)")
        }
    }

    @Test func relayNamesAPortThatIsTaken() async throws {
        try await PurgedGateway.withOrigin { gateway, origin in
            let port = try #require(origin.baseURL.split(separator: ":").last)
            let outcome = try await gateway.run(["inspect", "--port", String(port)])
            #expect(outcome.status == 1 && outcome.output.isEmpty, "\(outcome)")
            #expect(
                outcome.error.contains("cannot listen on '127.0.0.1:\(port)': Address already in use. Choose another"),
                "\(outcome)"
            )
        }
    }

    /// Runs `holdfast inspect` until the body has ended, then ends it by a signal.
    private func withRelay(
        to gateway: PurgedGateway,
        _ body: (_ port: Int, _ code: String, _ diagnostics: OutputReader) async throws -> Void
    ) async throws {
        let (output, error) = (Pipe(), Pipe())
        let process = try ChildProcess(
            try Tool("holdfast").url,
            ["inspect", "--config", gateway.folder.file],
            environment: [:],
            output: output.fileHandleForWriting.fileDescriptor,
            error: error.fileHandleForWriting.fileDescriptor
        )
        try output.fileHandleForWriting.close()
        try error.fileHandleForWriting.close()
        let ending = try await process.end {
            let line = await OutputReader(output).firstLine()
            let port = try #require(
                line.dropFirst("http://127.0.0.1:".count).split(separator: "/").first.flatMap { Int($0) },
                "\(line)"
            )
            try await body(port, try code(of: line, port: port), OutputReader(error))
            kill(process.identifier, SIGTERM)
        }
        #expect(ending.status == 0 && !ending.wasKilled, "\(ending)")
    }

    @Test func socketAloneIsRelayed() async throws {
        try await PurgedGateway.withOrigin { gateway, _ in
            try await withRelay(to: gateway) { port, code, _ in try await visit(port, code: code) }
        }
    }

    @Test func relayToAStoppedGatewaySaysSo() async throws {
        try await PurgedGateway.withOrigin { gateway, _ in
            try await withRelay(to: gateway) { port, code, diagnostics in
                let session = try await send("POST", "/v1/sessions", to: port, content: "{\"code\":\"\(code)\"}")
                let token = try #require(session.json["token"] as? String, "\(session)")
                let bearer = "Authorization: Bearer \(token)\r\n"
                gateway.server.signal(SIGKILL)
                var status = 200
                while status == 200 { status = try await send("GET", "/v1/overview", to: port, bearer).status }
                #expect(status == 502)
                let line = await diagnostics.line(containing: "does not respond")
                #expect(line.contains(gateway.folder.socket) && line.contains("Ctrl-C"), "\(line)")
            }
        }
    }
}
