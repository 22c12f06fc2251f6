import Testing

@testable import CacheRules
@testable import HoldfastConfiguration

@Suite(.timeLimit(.minutes(20))) struct LogSettingTests {
    @Test func isRead() throws {
        let configuration = try Configuration(
            yaml: "version: 1\nlog: {access: off, format: json, to: a.log, query: full, client: none}"
        )
        let log = configuration.log
        #expect(log.access == .off && log.format == .json && log.to == "a.log")
        #expect(log.query == .full && log.client == Configuration.Log.Client.none)
        #expect(try Configuration(yaml: "version: 1\nlog: {access: all}").log.access == .all)
    }

    @Test func placeIsBesideTheFile() {
        var configuration = Configuration()
        configuration.file = "/etc/holdfast/holdfast.yaml"
        #expect(configuration.logDestination == "stderr")
        for (place, path) in [
            ("stdout", "stdout"), ("a.log", "/etc/holdfast/a.log"), ("/var/log/a.log", "/var/log/a.log"),
        ] {
            configuration.log.to = place
            #expect(configuration.logDestination == path)
        }
    }

    @Test(arguments: ["access: some", "format: xml", "query: none", "client: some", "to: []", "level: all"])
    func refusesOtherValues(setting: String) {
        #expect(throws: ConfigurationError.self) { try Configuration(yaml: "version: 1\nlog: {\(setting)}") }
    }
}
