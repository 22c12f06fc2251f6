import Testing

@testable import HoldfastGateway

extension RewritingGatewayTests {
    /// Of content in memory and of a stream, the type tells what a backslash means.
    @Test(arguments: [1, 4_000], ["application/json", "text/html"])
    func readsEscapesOfJSONInJSON(repeating: Int, type: String) async throws {
        func page(_ base: String) -> String { String(repeating: #"{"a": "\n\#(base)/x"}"# + "\n", count: repeating) }
        let respond: @Sendable (RawOrigin.Request) -> RawOrigin.Step = {
            let base = "http://\($0.values("host").first ?? "")"
            let page = String(repeating: #"{"a": "\n\#(base)/x"}"# + "\n", count: repeating)
            return .response(RewritingGateway.response(page, type: type, fields: RewritingGateway.fresh))
        }
        try await RewritingGateway.with(respond) { gateway, origin in
            for _ in 0..<3 {
                let response = try await gateway.ask(host: "gw.example")
                #expect(response.text == page(type == "text/html" ? origin.url : "http://gw.example/o"))
            }
        }
    }
}
