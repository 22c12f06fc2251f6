import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastConfiguration
import HoldfastTesting
import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import HoldfastGateway

/// No single request holds an event loop for longer than ``ProcessorTime/limit``, whatever its
/// fields and its target.
@Suite(.timeLimit(.minutes(20)), .serialized) struct RequestCostTests {
    /// A gateway on one loop, whose rules look at all that rules can look at in a request.
    struct Gate {
        let gateway: RunningGateway
        let meter: LoopMeter
        let steps: ProcessorTime.Steps

        /// A request and its response; adds what it costs the loop.
        func get(_ target: String, _ fields: [(String, String)], _ what: String) async throws {
            let lines = fields.map { "\($0.0): \($0.1)\r\n" }.joined()
            _ = try await meter.longest()
            let response = try await gateway.get(target, fields: lines)
            steps.add(what, try await meter.longest())
            #expect((200..<500).contains(response.status), "\(what): \(response.status)")
        }
    }

    static var rules: FixedRules {
        var settings = ExchangeSettings()
        settings.normalizesAcceptEncoding = true
        settings.target.droppedParameters = ["utm_*", "m1", "x*"]
        settings.target.ignoredParameters = ["session", "k*"]
        settings.target.sortsParameters = true
        return FixedRules(settings)
    }

    func withGate(rules: (any ExchangeRules)? = nil, _ body: (Gate) async throws -> Void) async throws {
        let trusted = try #require(AddressRange("127.0.0.0/8"))
        let slow = try await ProcessorTime.stepsOverLimit { steps in
            try await VaryingOrigin.with { url in
                try await LoopMeter.with { group, meter in
                    try await RunningGateway.with(
                        origin: url,
                        group: group,
                        rules: rules,
                        configure: { $0.trustedClients = [trusted] }
                    ) { try await body(Gate(gateway: $0, meter: meter, steps: steps)) }
                }
            }
        }
        #expect(slow.isEmpty, "\(slow)")
    }

    /// Each field is named by `Vary`, and its value is as long as a head may be: once for a miss,
    /// once more for a request that differs in its last byte.
    @Test func longFields() async throws {
        try await withGate(rules: Self.rules) { gate in
            for (name, lists) in CostlyList.fields {
                for list in lists.isEmpty ? [.distinct, .similar] : lists + [.distinct] {
                    let (target, what) = ("/\(name)/\(list)", "\(name), \(list)")
                    let value = list.value()
                    try await gate.get(target, [(name, value)], "miss: \(what)")
                    try await gate.get(target, [(name, value + "x")], "another variant: \(what)")
                }
            }
        }
    }

    /// As many variants as a key may have, and a field that is as long as a head may be.
    ///
    /// Mutant: the request's field is normalized for each variant.
    @Test(arguments: ["Accept-Language", "Accept-Encoding", "Cookie", "X-Tenant"])
    func manyVariants(name: String) async throws {
        try await withGate { gate in
            let target = "/\(name)/variants"
            for number in 0..<32 { try await gate.get(target, [(name, "v\(number)")], "\(name), variant \(number)") }
            for list in [CostlyList.weighted, .similar, .short] {
                try await gate.get(target, [(name, list.value())], "\(name), \(list)")
            }
        }
    }

    /// The same with variants that are selected by fields as long.
    @Test func manyVariantsOfALongField() async throws {
        try await withGate { gate in
            let (name, target) = ("Accept-Language", "/Accept-Language/long")
            let value = CostlyList.weighted.value(59_000)
            for number in 0..<32 { try await gate.get(target, [(name, "\(value),v\(number)")], "variant \(number)") }
            // None of them matches; then the last one does, written otherwise.
            try await gate.get(target, [(name, "\(value),none")], "no variant")
            try await gate.get(target, [(name, "\(value) , v31")], "the last variant")
        }
    }

    /// `Vary` names as many fields as it may, and the request has them.
    @Test func manySelectingFields() async throws {
        try await withGate { gate in
            let names = (0..<100).map { "X-Selecting-\($0)" }
            let target = "/" + names.joined(separator: ",")
            for number in 0..<32 {
                let fields = names.map { ($0, $0 == names.last ? "v\(number)" : String(repeating: "a,", count: 200)) }
                try await gate.get(target, fields, "variant \(number)")
            }
            try await gate.get(target, names.map { ($0, String(repeating: "a , ", count: 100)) }, "no variant")
        }
    }

    /// Targets as long as a request line may be.
    @Test func longTargets() async throws {
        let parts = [
            "&", "a&", "a=1&", "m1=1&", "k=1&", "%26", "%2526", "%252526&", ";", "a;b=1&", "utm_x=%61&", "%C3%A9=&",
            "?",
            "=", "+", "%", "%zz&", "xx&",
        ]
        let paths = [
            "/", "./", "../", "%2e/", "%2E%2e/", "%252e%252e/", "a/", ";a/", "%2f", "\\", "%5c", "//a", "%25",
            "%25%32%65",
        ]
        try await withGate(rules: Self.rules) { gate in
            for part in parts {
                let query = String(repeating: part, count: 7_900 / part.utf8.count)
                for _ in 0..<2 { try await gate.get("/-?" + query, [], "query of '\(part)'") }
            }
            for part in paths {
                let path = String(repeating: part, count: 7_900 / part.utf8.count)
                for _ in 0..<2 { try await gate.get("/-/" + path, [], "path of '\(part)'") }
            }
        }
    }
}
