import HTTPCacheSemantics
import Testing

@testable import CacheRules
@testable import HoldfastConfiguration

@Suite(.timeLimit(.minutes(20))) struct ForwardProxySettingsTests {
    private func read(_ yaml: String) throws -> Configuration { try Configuration(yaml: "version: 1\n" + yaml) }

    private func message(_ yaml: String) -> String { findings("version: 1\n" + yaml).joined(separator: "\n") }

    @Test func withoutHostsThereIsNoProxy() throws {
        let configuration = try read("mode: automatic")
        #expect(!configuration.forwardProxy.isOn && !configuration.isForGateway && configuration.leadsNowhere)
        let proxied = try read("forward-proxy: {hosts: a.example}")
        #expect(proxied.forwardProxy.isOn && proxied.isForGateway && proxied.routeCount == 0)
        #expect(proxied.forwardProxy.prefix == "/proxy" && proxied.forwardProxy.ports.isEmpty)
        #expect(try read("forward-proxy: {hosts: a.example, prefix: off}").forwardProxy.prefix == nil)
    }

    /// Mutant: a star alone is a host.
    @Test(arguments: ["\"*\"", "[a.example, \"*\"]", "\"*.*\"", "[{host: \"**\", upgrade: https}]", "\"*.\""])
    func openProxiesAreRejected(hosts: String) {
        let message = message("forward-proxy: {hosts: \(hosts)}")
        #expect(message.contains("is every host, which would be an open proxy"), "\(message)")
    }

    @Test(arguments: [
        ("a.*.example", "has a star that is not the whole first label"), ("\"*a.example\"", "has a star"),
        ("\"*.*.example\"", "has a star"), ("a.example:8080", "has a port. Write the host alone"),
        ("https://a.example", "is a URL. Write its host alone"), ("a b", "is not a host"),
        ("[a.example, A.example]", "'a.example' is listed twice"), ("{host: a.example}", "or a list of them"),
        ("[{upgrade: https}]", "'host' is missing"),
        ("[{host: a.example, upgrade: http}]", "'upgrade': Expected https"),
        ("[{host: a.example, port: 80}]", "port"),
    ])
    func otherHostsAreFindings(hosts: String, expected: String) {
        let message = message("forward-proxy: {hosts: \(hosts)}")
        #expect(message.contains("forward-proxy.hosts") && message.contains(expected), "\(message)")
    }

    @Test(arguments: [
        ("prefix: /", "'/' is not a path such as '/proxy'"), ("prefix: /a/", "does not end with a slash"),
        ("prefix: /a;b", "has no ';'"), ("prefix: a", "is not a path"), ("ports: [0]", "from 1 to 65535"),
        ("ports: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17]", "There are 17 ports. The limit is 16."),
        ("addresses: [10.0.0.1/8]", "has bits after its prefix"), ("allow: [a.example]", "is not an address"),
    ])
    func otherSettingsAreFindings(setting: String, expected: String) {
        let message = message("forward-proxy: {hosts: a.example, \(setting)}")
        #expect(message.contains(expected), "\(message)")
    }

    @Test(arguments: ["prefix: /via", "prefix: off", "ports: [8080]", "addresses: [10.0.0.0/8]", "allow: [10.0.0.0/8]"])
    func settingsWithoutHostsHaveNoEffect(setting: String) {
        let message = message("forward-proxy: {\(setting)}")
        #expect(message.contains("It has no effect without 'forward-proxy.hosts'"), "\(message)")
    }

    @Test func tooManyHostsAreAFinding() {
        let hosts = (0...Configuration.ForwardProxy.hostLimit).map { "h\($0).example" }.joined(separator: ", ")
        #expect(message("forward-proxy: {hosts: [\(hosts)]}").contains("There are 257 hosts. The limit is 256."))
    }

    @Test(arguments: [
        "{path: /proxy, origin: \"https://a.example\"}", "{name: b, path: /proxy/b, origin: \"https://a.example\"}",
        "{path: //proxy/%62, respond: {status: 204}}",
    ])
    func prefixHidesNoRoute(route: String) {
        let message = message("forward-proxy: {hosts: a.example}\nroutes: [\(route)]")
        #expect(message.contains("forward-proxy.prefix") && message.contains("'/proxy' hides route"), "\(message)")
    }

    /// Rules and settings of origins may be about hosts of the proxy.
    @Test func rulesAndOriginsOfTheProxyAreReached() throws {
        let proxy =
            "forward-proxy: {hosts: [a.example, \"*.b.example\"]}\nroutes: [{path: /c, origin: \"https://c.example\"}]\n"
        for host in ["a.example", "x.b.example"] {
            let configuration = try read(
                proxy + "origins: {\"https://\(host)\": {timeouts: {connect: 1 s}}}\n"
                    + "rules: [{match: {url: \"http://\(host)/x/**\"}, tags: [a]}]"
            )
            #expect(configuration.unroutedRules.isEmpty)
        }
        #expect(
            message(proxy + "origins: {\"https://d.example\": {timeouts: {connect: 1 s}}}").contains(
                "No route leads to it"
            )
        )
        let other = try read(proxy + "rules: [{match: {url: \"https://d.example/**\"}, tags: [a]}]")
        #expect(other.unroutedRules.count == 1)
    }

    @Test(arguments: [
        ("allow: [0.0.0.0/0]", "every client may request the listed hosts"),
        ("addresses: [\"::/0\"]", "clients reach the private network and this machine"),
        ("addresses: [10.0.0.0]", "is one address. For a network, write its prefix length"),
    ])
    func wideListsAreWarnings(setting: String, expected: String) throws {
        let configuration = try read("forward-proxy: {hosts: a.example, \(setting)}")
        #expect(configuration.checkWarnings.contains { "\($0)".contains(expected) })
    }

    /// The shown value can be read.
    @Test func hostsAreShownAsInAFile() throws {
        let text = "[a.example, \"*.b.example\", {host: \"c.example\", upgrade: https}]"
        let configuration = try read("forward-proxy: {hosts: \(text)}")
        let shown = configuration.effective.settings.first { $0.name == "forward-proxy.hosts" }?.value
        #expect(shown == text)
    }
}
