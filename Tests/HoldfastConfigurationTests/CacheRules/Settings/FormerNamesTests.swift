import Testing

@testable import CacheRules
@testable import HoldfastConfiguration

/// Every name that a setting had before the first release is rejected, and the error gives the new
/// one.
@Suite(.timeLimit(.minutes(20))) struct FormerNamesTests {
    private static func findings(_ text: String) throws -> [String] {
        let error = #expect(throws: ConfigurationError.self) { try Configuration(yaml: "version: 1\n" + text) }
        return try #require(error).findings.map(\.message)
    }

    @Test(arguments: [
        ("shared: {url: \"redis://a\"}", "'shared' was renamed. Write 'fleet'."),
        ("shared.url: \"redis://a\"", "'shared.url' was renamed. Write 'fleet.url'."),
        ("rules: [{shared: false}]", "'shared' was renamed. Write 'fleet'."),
        ("rules: [{stale: {normal: 7 d}}]", "'normal' was renamed. Write 'unreachable'."),
        ("rules: [{stale.normal: 7 d}]", "'stale.normal' was renamed. Write 'stale.unreachable'."),
        ("rules: [{stale: {despite: [no-cache]}}]", "'despite' was renamed. Write 'ignore'."),
        ("rules: [{stale.despite: [no-cache]}]", "'stale.despite' was renamed. Write 'stale.ignore'."),
    ])
    func fileWithAnOldNameIsRejected(_ text: String, _ message: String) throws {
        let findings = try Self.findings(text)
        #expect(findings.contains(message), "\(findings)")
    }

    @Test(arguments: FormerNames.settings.sorted { $0.key < $1.key })
    func newNameIsKnownAndOldOneIsNot(_ old: String, _ new: String) {
        let names = Set(TopSetting.all.map(\.name) + Setting.all.map(\.name))
            .union(TopSetting.groups.keys).union(Setting.groups.keys)
        #expect(names.contains(new) && !names.contains(old))
    }

    @Test func nameThatNeverWasIsNoOldName() {
        #expect(FormerNames.newName(of: "shard") == nil && FormerNames.newName(of: "shared.url", in: "store") == nil)
    }
}
