import Foundation
import SampleOrigin
import Testing

/// The reports behind the page's views, from the built gateway.
@Suite(.timeLimit(.minutes(20)), .enabled(if: Tool.hasCurl, "/usr/bin/curl is a client"))
struct InspectReportTests {
    @Test func rulesSayHowOftenTheyWereApplied() async throws {
        try await PurgedGateway.withOrigin { gateway, _ in
            let before = try await gateway.curl("/v1/rules").json["rules"] as? [[String: Any]]
            #expect(before?.map { $0["matched"] as? Int } == [0], "\(String(describing: before))")
            for path in ["/news/1", "/news/2", "/other"] { _ = try await gateway.get(path) }
            let report = try await gateway.curl("/v1/rules").json
            let rule = try #require((report["rules"] as? [[String: Any]])?.first)
            #expect(
                rule["matched"] as? Int == 2 && rule["line"] is Int
                    && rule["match"] as? [String] == ["match.url: [/news/**]"]
            )
            #expect(rule["settings"] as? [String] == ["tags: [news]"], "\(rule)")
            let routes = report["routes"] as? [[String: Any]] ?? []
            #expect(routes.contains { $0["requests"] as? Int == 3 }, "\(routes)")
        }
    }

    @Test func notStoredHasReasonsAndExamples() async throws {
        try await PurgedGateway.withOrigin { gateway, origin in
            origin.behaveNormally()
            origin.force(.respond(fields: [("Cache-Control", "no-store")], body: "v1"), times: .max)
            _ = try await gateway.get("/cart?token=secret&page=2")
            let reasons = try await gateway.curl("/v1/not-stored").json["reasons"] as? [[String: Any]]
            let reason = try #require(reasons?.first)
            #expect(reason["reason"] as? String == "response-no-store" && reason["count"] as? Int == 1)
            #expect((reason["words"] as? String)?.contains("no-store") == true)
            let example = try #require((reason["examples"] as? [[String: Any]])?.first)
            #expect(
                example["url"] as? String == "a.test/cart?token=REDACTED&page=2" && example["status"] as? Int == 200
            )
        }
    }

    @Test func storedResponseIsComparedWithItsOrigins() async throws {
        try await PurgedGateway.withOrigin { gateway, origin in
            try await gateway.warm([.init(path: "/news/1")])
            let stored = try #require(
                (try await gateway.curl("/v1/responses").json["responses"] as? [[String: Any]])?.first
            )
            let (id, entry) = (try #require(stored["id"] as? String), try #require(stored["entry"] as? Int))
            func compare(_ entry: Int) async throws -> PurgedGateway.Reply {
                try await gateway.curl(
                    "/v1/responses/\(id)/comparison",
                    ["--json", "{\"entry\": \(entry)}", "-H", "Accept: */*"]
                )
            }
            let same = try await compare(entry)
            #expect(
                same.status == 200 && (same.json["body"] as? [String: Any])?["isSame"] as? Bool == true,
                "\(same.text)"
            )
            let names = (same.json["fields"] as? [[String: Any]])?.compactMap { $0["name"] as? String }
            #expect(names?.contains("cache-control") == false && names?.contains("date") == false, "\(same.text)")
            origin.respond("v2, longer")
            let other = try await compare(entry).json
            let body = try #require(other["body"] as? [String: Any])
            #expect(body["isSame"] as? Bool == false && body["stored"] as? Int == 2 && body["origin"] as? Int == 10)
            #expect(try await compare(entry + 1).status == 404)
            // Nothing of it was stored.
            #expect(try await gateway.get("/news/1").contains("; hit; ttl="))
            await origin.stop()
            #expect(try await compare(entry).status == 502)
        }
    }

    @Test func responsesAreListedInOrders() async throws {
        try await PurgedGateway.withOrigin { gateway, origin in
            for (path, text) in [("/a", "xx"), ("/b", String(repeating: "x", count: 5000)), ("/c", "xxx")] {
                origin.respond(text)
                _ = try await gateway.get(path)
            }
            func list(_ query: String) async throws -> (paths: [String], next: Any?) {
                let json = try await gateway.curl("/v1/responses?\(query)").json
                let urls = (json["responses"] as? [[String: Any]] ?? []).compactMap { $0["url"] as? String }
                return (urls.map { String($0.suffix(2)) }, json["next"])
            }
            #expect(try await list("order=-size&limit=1").paths == ["/b"])
            let next = try #require(try await list("order=-stored&limit=2").next as? Int)
            #expect(try await list("order=-stored&limit=2&after=\(next)").paths == ["/a"])
            let cursor = try #require(try await list("order=expires&limit=1").next as? String)
            #expect(try await list("order=expires&after=\(cursor)").paths.count == 2)
            let authority = origin.baseURL.dropFirst("http://".count)
            #expect(try await list("host=\(authority)").paths.count == 3)
            #expect(try await list("host=\(authority.prefix { $0 != ":" }):1").paths.isEmpty)
            let hosts = ["host=a:", "host=a:x", "host=a:99999", "host=a:1:2", "host=a/b:1"]
            for wrong in ["order=url", "order=size&after=\(next)", "after=x", "pinned=1"] + hosts {
                #expect(try await gateway.curl("/v1/responses?\(wrong)").status == 400, "\(wrong)")
            }
        }
    }

    @Test func explanationTakesFieldsOfTheRequest() async throws {
        try await PurgedGateway.withOrigin { gateway, _ in
            try await gateway.warm([.init(path: "/news/1")])
            func explain(_ fields: [String]) async throws -> PurgedGateway.Reply {
                let arguments = ["-G", "--data-urlencode", "url=http://a.test/news/1"]
                return try await gateway.curl(
                    "/v1/explain",
                    arguments + fields.flatMap { ["--data-urlencode", "field=\($0)"] }
                )
            }
            func summary(_ reply: PurgedGateway.Reply) -> String? {
                ((reply.json["explanation"] as? [String: Any])?["now"] as? [String: Any])?["summary"] as? String
            }
            let plain = try await explain([])
            #expect(summary(plain)?.hasPrefix("Would be served from the store") == true, "\(plain.text)")
            let asking = try await explain(["cache-control:no-cache", "accept-language:de"])
            #expect(asking.status == 200 && summary(asking) != summary(plain), "\(asking.text)")
            for wrong in ["none", ":x", "ä:c"] { #expect(try await explain([wrong]).status == 400, "\(wrong)") }
        }
    }
}
