import Testing

@testable import CacheRules
@testable import HoldfastConfiguration

/// Listeners whose addresses are the same once their names are resolved.
@Suite(.timeLimit(.minutes(20))) struct ResolvedAddressTests {
    private static let names = ["localhost": "127.0.0.1", "here.test": "10.0.0.7", "six.test": "[::1]"]

    /// The address of a name in the table, or the address itself.
    private static func resolve(_ text: String) -> String? {
        let host = text.withoutPort
        guard host.contains(where: \.isLetter), !host.hasPrefix("[") else { return text }
        return names[host].map { $0 + text.dropFirst(host.count) }
    }

    private static let advice = "Choose another port, or remove one of them."

    /// Mutant: `names-of-listeners-are-not-resolved`.
    @Test(
        arguments: [
            (
                "listen: [localhost:1, 127.0.0.1:1]",
                "f:2: listen: '127.0.0.1:1' is also in 'listen' (line 2): 'localhost:1' is 127.0.0.1:1. \(advice)"
            ),
            (
                "listen: [127.0.0.1:1, localhost:1]",
                "f:2: listen: 'localhost:1' is 127.0.0.1:1, also in 'listen' (line 2). \(advice)"
            ),
            (
                "listen: 127.0.0.1:1\ncontrol: {listen: \"localhost:1\"}",
                "f:3: control.listen: 'localhost:1' is 127.0.0.1:1, also in 'listen' (line 2). \(advice)"
            ),
            (
                "listen: 0.0.0.0:1\nmetrics: {listen: \"localhost:1\"}",
                "f:3: metrics.listen: 'localhost:1' is 127.0.0.1:1, also used by '0.0.0.0:1' in 'listen' (line 2). \(advice)"
            ),
            ("listen: [\"[::1]:1\", localhost:1]", nil), ("listen: [localhost:1, 127.0.0.1:2]", nil),
            ("listen: [localhost:0, 127.0.0.1:0]", nil), ("listen: [unknown.test:1, 127.0.0.1:1]", nil),
            (
                "listen: [\"[::1]:1\", six.test:1]",
                "f:2: listen: 'six.test:1' is [::1]:1, also in 'listen' (line 2). \(advice)"
            ),
        ] as [(String, String?)]
    )
    func sameAddressUnderTwoNamesIsReported(_ yaml: String, _ expected: String?) throws {
        let configuration = try Configuration(yaml: "version: 1\n" + yaml, file: "f")
        let listeners = configuration.listeners.map(\.text)
        let found = configuration.resolvedCollisions(of: listeners, areReplaced: false, resolving: Self.resolve)
        #expect(found.map(\.description) == (expected.map { [$0] } ?? []))
    }

    @Test func listenersFromOutsideTheFileAreNamed() throws {
        let configuration = try Configuration(
            yaml: "version: 1\nlisten: 10.0.0.1:5\ncontrol: {listen: \"127.0.0.1:1\"}",
            file: "f"
        )
        let found = configuration.resolvedCollisions(
            of: ["localhost:1", "here.test:2", "10.0.0.7:2"],
            areReplaced: true,
            resolving: Self.resolve
        )
        #expect(
            found.map(\.description) == [
                "'10.0.0.7:2' is also in the listeners that replace 'listen': 'here.test:2' is 10.0.0.7:2. \(Self.advice)",
                "f:3: control.listen: '127.0.0.1:1' is also in the listeners that replace 'listen': 'localhost:1' is 127.0.0.1:1. \(Self.advice)",
            ]
        )
    }

    /// A lookup may wait for a server, so names are looked up only if another listener has their
    /// port.
    @Test func namesWithAPortOfTheirOwnAreNotLookedUp() throws {
        let configuration = try Configuration(yaml: "version: 1\nlisten: [a.test:1, b.test:2, c.test:0, d.test:0]")
        let found = configuration.resolvedCollisions(of: configuration.listeners.map(\.text), areReplaced: false) {
            Issue.record("'\($0)' is looked up")
            return nil
        }
        #expect(found.isEmpty)
    }
}
