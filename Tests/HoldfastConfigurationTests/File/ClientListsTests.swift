import Testing

@testable import CacheRules
@testable import HoldfastConfiguration

@Suite(.timeLimit(.minutes(20))) struct ClientListsTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var allow: [String] = []
        var deny: [String] = []
        var address: String?
        var isOwn = true
        var expected: Bool

        var testDescription: String { "allow \(allow), deny \(deny), \(address ?? "no address")" }
    }

    /// Mutants: `allowed-clients-are-not-denied`, `proxies-are-allowed-for-their-clients`.
    @Test(arguments: [
        Case(address: "192.0.2.1", expected: true), Case(address: nil, expected: true),
        Case(allow: ["192.0.2.0/24"], address: "192.0.2.1", expected: true),
        Case(allow: ["192.0.2.0/24"], address: "192.0.3.1", expected: false),
        Case(allow: ["192.0.2.0/24"], address: "::ffff:192.0.2.1", expected: true),
        Case(allow: ["192.0.2.0/24"], address: "::1", expected: false),
        Case(allow: ["192.0.2.0/24"], address: nil, expected: false),
        Case(allow: ["192.0.2.0/24"], address: "unknown", expected: false),
        Case(allow: ["192.0.2.0/24"], address: "192.0.2.1", isOwn: false, expected: false),
        Case(allow: ["10.0.0.0/8", "fd00::/8"], address: "fdab::1", expected: true),
        Case(deny: ["fd00::/8"], address: "fdab::1", expected: false),
        Case(deny: ["fd00::/8"], address: "10.0.0.1", expected: true),
        Case(deny: ["::ffff:10.0.0.0/104"], address: "10.0.0.1", expected: false),
        Case(deny: ["10.0.0.1"], address: "10.0.0.1", isOwn: false, expected: false),
        Case(deny: ["10.0.0.1"], address: "10.0.0.2", isOwn: false, expected: true),
        Case(deny: ["10.0.0.1"], address: nil, expected: true),
        Case(deny: ["0.0.0.0/0"], address: "203.0.113.9", expected: false),
        Case(deny: ["0.0.0.0/0"], address: "::1", expected: true),
        Case(deny: ["0.0.0.0/0", "::/0"], address: "::1", expected: false),
        Case(deny: ["0.0.0.0/0", "::/0"], address: "unix", expected: true),
        Case(deny: ["unix"], address: "unix", expected: false),
        Case(allow: ["unix"], address: "127.0.0.1", expected: false),
        // Deny wins, whichever range is smaller.
        Case(allow: ["10.0.0.0/8"], deny: ["10.1.0.0/16"], address: "10.1.2.3", expected: false),
        Case(allow: ["10.1.0.0/16"], deny: ["10.0.0.0/8"], address: "10.1.2.3", expected: false),
        Case(allow: ["10.0.0.0/8"], deny: ["10.1.0.0/16"], address: "10.2.2.3", expected: true),
    ])
    func admitsAllowedClientsThatAreNotDenied(_ row: Case) {
        let lists = Configuration.ClientLists(
            allow: row.allow.compactMap { AddressRange($0) },
            deny: row.deny.compactMap { AddressRange($0) }
        )
        #expect(lists.allow.count == row.allow.count && lists.deny.count == row.deny.count)
        #expect(lists.admit(row.address, isOwn: row.isOwn) == row.expected)
    }

    @Test func listsHaveALimit() throws {
        func yaml(_ count: Int) -> String {
            let addresses = (0..<count).map { "10.0.\($0 / 256).\($0 % 256)" }
            return "version: 1\nclients: {deny: [\(addresses.joined(separator: ", "))]}"
        }
        let limit = Configuration.ClientLists.limit
        #expect(try Configuration(yaml: yaml(limit)).clients.lists.deny.count == limit)
        #expect(throws: ConfigurationError.self) { try Configuration(yaml: yaml(limit + 1)) }
    }

    @Test(
        arguments: [
            ("{rate: 50/s}", Configuration.RequestRate(50, per: .second, burst: 50)),
            ("{rate: 600/m, burst: 1}", Configuration.RequestRate(600, per: .minute, burst: 1)),
            (
                "{rate: 10/h, burst: 200, by: prefix}",
                Configuration.RequestRate(10, per: .hour, burst: 200, by: .prefix)
            ),
            ("off", nil),
        ] as [(String, Configuration.RequestRate?)]
    )
    func ratesAreRead(text: String, expected: Configuration.RequestRate?) throws {
        let configuration = try Configuration(yaml: "version: 1\nlimits: {requests: \(text)}")
        #expect(configuration.limits.requests == expected)
        let setting = try #require(configuration.effective.settings.first { $0.name == "limits.requests" })
        let shown = try #require(setting.value)
        let again = try Configuration(yaml: "version: 1\nlimits: {requests: \(shown)}")
        #expect(again.limits.requests == expected, "what is shown can be written")
    }
}
