import Foundation
import SampleOrigin
import TestSupport
import Testing

/// Pins of a running gateway and of a closed store, with the built commands and with curl.
@Suite(.timeLimit(.minutes(20)), .enabled(if: Tool.hasCurl, "/usr/bin/curl is a client")) struct HoldfastPinTests {
    private static let targets = ["/news/1", "/news/2?page=1", "/other"].map { PurgedGateway.Target(path: $0) }

    @Test func pinsOfARunningGatewayOutlastItsKill() async throws {
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                try folder.write(origin)
                origin.respond("v1")
                let ending = try await PurgedGateway.with(folder, signal: SIGKILL) { gateway in
                    try await gateway.warm(Self.targets)
                    let dryRun = try await gateway.run(["pin", "--tag", "news", "--dry-run"])
                    #expect(
                        dryRun.text.hasPrefix("Would pin 2 of 2 selected responses. Pinned now: 0 entries"),
                        "\(dryRun)"
                    )
                    let json = #"{"select": {"tags": ["news"]}, "pinned": true, "reason": "fair"}"#
                    let reply = try await gateway.curl("/v1/pins", ["--json", json, "-H", "Accept: */*"])
                    #expect(reply.status == 200 && reply.json["changed"] as? Int == 2, "\(reply.text)")
                    let pins = try #require(reply.json["pins"] as? [String: Any])
                    #expect(pins["entries"] as? Int == 2 && pins["limit"] as? Int == (1 << 30) / 2)
                    #expect(await gateway.server.log.line(containing: "Pinned").contains("fair"))
                }
                #expect(ending.wasKilled)
                try await PurgedGateway.with(folder) { gateway in
                    let listed = try await gateway.curl("/v1/pins?limit=10", [])
                    let responses = try #require(listed.json["responses"] as? [[String: Any]])
                    #expect(
                        responses.compactMap { $0["url"] as? String } == [
                            origin.baseURL + "/news/1", origin.baseURL + "/news/2?page=1",
                        ]
                    )
                    #expect(responses.allSatisfy { $0["pinned"] as? Bool == true } && listed.json["next"] == nil)
                    let unpin = try await gateway.run(["unpin", origin.baseURL + "/news/1"])
                    #expect(
                        unpin.status == 0
                            && unpin.text.hasPrefix("Unpinned 1 of 1 selected responses. Pinned now: 1 entry,")
                    )
                    let status = try await gateway.run(["status"])
                    #expect(status.text.contains("3 responses, 1 pinned"), "\(status.text)")
                }
            }
        }
    }

    @Test func pinsInAStoreThatNoProcessHasOpen() async throws {
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                try folder.write(origin)
                origin.respond("v1")
                try await PurgedGateway.with(folder) { try await $0.warm(Self.targets) }
                let pin = try await folder.run(["pin", "--prefix", origin.baseURL + "/news/", "--format", "json"])
                let result = try #require(try pin.objects().first, "\(pin)")
                #expect(result["changed"] as? Int == 2 && result["pinned"] as? Bool == true)
                let unpin = try await folder.run(["unpin", "--all", "--dry-run"])
                #expect(unpin.text.hasPrefix("Would unpin 2 of 3 selected responses."), "\(unpin)")
                let nothing = try await folder.run(["pin", "--tag", "none"])
                #expect(nothing.status == 0 && nothing.error.contains("Nothing matched"), "\(nothing)")
            }
        }
    }

    /// URLs as clients request them, with and without a running gateway.
    @Test func pinsTheOriginsURLForAClientsURL() async throws {
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                try folder.write(origin)
                origin.respond("v1")
                try await PurgedGateway.with(folder) { gateway in
                    try await gateway.warm(Self.targets)
                    let pin = try await gateway.run(["pin", "http://gateway.test/other"])
                    #expect(pin.text.hasPrefix("Pinned 1 of 1 selected responses."), "\(pin)")
                    let host = try await gateway.run(["pin", "--host", "gateway.test"])
                    let words = "responses are stored under '\(origin.baseURL)/': use '--prefix \(origin.baseURL)/'."
                    #expect(host.status == 0 && host.error.contains(words), "\(host)")
                    for (selector, words) in [
                        (["http://gateway.test/other/"], "use '--prefix http://gateway.test/other/'"),
                        (["--tag", "a,b"], "'a,b' is one tag. For several tags, repeat '--tag'."),
                    ] {
                        let none = try await gateway.run(["purge", "--dry-run"] + selector)
                        #expect(none.status == 0 && none.error.contains(words), "\(none)")
                    }
                    for (selector, words) in [
                        (["news"], "For a tag, use '--tag news'."),
                        (["--host", "*.test"], "'--host' number 1 is a pattern, and a purge takes whole hosts."),
                    ] {
                        let wrong = try await gateway.run(["purge", "--dry-run"] + selector)
                        #expect(wrong.status == 64 && wrong.error.contains(words), "\(wrong)")
                    }
                    let known = try await gateway.run(["purge", "--host", "b.test"])
                    #expect(known.status == 0 && known.error.hasPrefix("Nothing matched. 'cache-dump"), "\(known)")
                }
                let tool = Tool("holdfast")
                let unpin = try await tool.run("unpin", "http://gateway.test/other", "--config", folder.file)
                #expect(unpin.text.hasPrefix("Unpinned 1 of 1 selected responses."), "\(unpin)")
                let host = try await tool.run("purge", "--host", "gateway.test", "--config", folder.file)
                #expect(host.error.contains("use '--prefix \(origin.baseURL)/'."), "\(host)")
                // Without the file, the routes are not known.
                let purge = try await tool.run("purge", "http://gateway.test/other", "--store", folder.store)
                #expect(purge.status == 0 && purge.error.contains("found only with '--config'"), "\(purge)")
                let known = try await tool.run("purge", "http://gateway.test/no", "--config", folder.file)
                #expect(!known.error.contains("found only with '--config'"), "\(known)")
                #expect(try await tool.run("purge", "--help").text.contains("with '--config', or if a gateway"))
            }
        }
    }

    @Test func thirtyClientsPinAndListAtOnce() async throws {
        try await PurgedGateway.withOrigin { gateway, origin in
            try await gateway.warm((0..<30).map { PurgedGateway.Target(path: "/other/\($0)") })
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<30 {
                    group.addTask {
                        let url = origin.baseURL + "/other/\(number)"
                        let json = #"{"select": {"urls": ["\#(url)"]}, "pinned": true}"#
                        let reply = try await gateway.curl("/v1/pins", ["--json", json, "-H", "Accept: */*"])
                        #expect(reply.status == 200 && reply.json["changed"] as? Int == 1, "\(reply.text)")
                        let listed = try await gateway.curl("/v1/pins?limit=100")
                        let responses = try #require(listed.json["responses"] as? [[String: Any]], "\(listed.text)")
                        #expect(responses.contains { $0["url"] as? String == url })
                    }
                }
                try await group.waitForAll()
            }
            let pins = try await gateway.curl("/v1/pins").json["pins"] as? [String: Any]
            #expect(pins?["entries"] as? Int == 30)
        }
    }

    @Test func wrongInputIsRejected() async throws {
        try await PurgedGateway.withOrigin { gateway, _ in
            for (json, status, field) in [
                (#"{"select": {"all": true}}"#, 400, "pinned"), (#"{"select": {}, "pinned": true}"#, 400, "select"),
                (#"{"select": {"tags": "a"}, "pinned": true}"#, 400, "select.tags"),
            ] {
                let reply = try await gateway.curl("/v1/pins", ["--json", json, "-H", "Accept: */*"])
                #expect(reply.status == status && reply.json["field"] as? String == field, "\(reply.text)")
            }
            #expect(try await gateway.curl("/v1/pins", ["-X", "DELETE"]).status == 405)
            #expect(try await gateway.curl("/v1/pins", ["-H", "Origin: http://a.example"]).status == 403)
            for arguments in [["pin"], ["unpin", "--all", "--tag", "a"], ["pin", "ftp://a.example/"]] {
                #expect(try await gateway.run(arguments).status == 64, "\(arguments)")
            }
            // In the words of the command line, not of JSON.
            let wrong = try await gateway.run(["pin", "--tag", "a", "ftp://a.example/"])
            #expect(wrong.error.contains("Error: URL 1: "), "\(wrong)")
        }
    }
}
