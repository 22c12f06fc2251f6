import HoldfastConfiguration
import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import HoldfastGateway

/// Long pages that are rewritten hold no event loop, whatever is in them.
@Suite(.timeLimit(.minutes(20)), .serialized) struct RewritingCostTests {
    private static let kinds = ["links", "lists", "paths", "schemes", "escapes", "entities", "slashes", "text"]

    /// A page of about this many bytes.
    private static func page(_ kind: String, of host: String, _ count: Int) -> String {
        let part =
            switch kind {
            case "links": "<a href=\"http://\(host)/a/b\">"
            case "lists": "http://\(host)/a,"
            case "paths": "http://\(host)/" + String(repeating: "a/", count: 500) + " "
            case "schemes": "http://other.example.http:https://"
            case "escapes": #""http:\/\/\#(host)\/a","\u002f\u002f","#
            case "entities": "&#x2f;&sol;&period;http://\(host)&#47;&"
            case "slashes": "=//(/'//h"
            default: "hold the phone, he said. "
            }
        return String(repeating: part, count: count / part.utf8.count + 1)
    }

    /// A page that is rewritten before its head is written, and one that is written as it is
    /// rewritten; each as it comes from the origin, and from the store.
    ///
    /// Mutants: a slice of the executor that ends only after a number of jobs; content that is
    /// rewritten in one piece.
    @Test(arguments: kinds)
    func longPages(kind: String) async throws {
        let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { request in
            let count = request.target == "/short" ? 60_000 : kind == "entities" ? 96 << 10 : 256 << 10
            let page = Self.page(kind, of: request.values("host").first ?? "", count)
            return .response(RewritingGateway.response(page, fields: RewritingGateway.fresh))
        }
        let slow = try await ProcessorTime.stepsOverLimit { steps in
            try await LoopMeter.with { group, meter in
                try await RewritingGateway.with(respond, group: group) { gateway, _ in
                    for target in ["/o/short", "/o/long", "/o/short", "/o/long"] {
                        _ = try await meter.longest()
                        let response = try await gateway.ask("GET", target, host: "client.example")
                        steps.add("\(kind), \(target)", try await meter.longest())
                        #expect(response.status == 200 && response.isComplete)
                    }
                }
            }
        }
        #expect(slow.isEmpty, "\(slow)")
    }
}
