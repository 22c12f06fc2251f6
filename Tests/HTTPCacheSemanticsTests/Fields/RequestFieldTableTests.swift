import HTTPTypes
import Testing

@testable import HTTPCacheSemantics

@Suite(.timeLimit(.minutes(20))) struct RequestFieldTableTests {
    /// The definition: a search of all entries in order, whole names before families.
    private static func expected(_ name: String, _ meanings: Set<RequestFieldTable.Meaning>) -> String? {
        let entries = RequestFieldTable.all.filter { meanings.contains($0.meaning) }
        let entry =
            entries.first { !$0.isFamily && $0.name == name }
            ?? entries.first { $0.isFamily && name.hasPrefix($0.name) }
        return entry?.name
    }

    @Test func lookupAgreesWithTheTable() {
        var names = RequestFieldTable.all.map(\.name)
        names += names.flatMap { [$0 + "x", String($0.dropLast()), "x-" + $0, $0.replacing("-", with: "_")] }
        names += ["", "-", "é", "x", String(repeating: "a", count: 70), "x-" + String(repeating: "a", count: 70)]
        for name in names {
            #expect(
                RequestFieldTable.claims.entry(of: name)?.name
                    == Self.expected(name, [.target, .method, .identity, .connection])
            )
            #expect(RequestFieldTable.credentials.entry(of: name)?.name == Self.expected(name, [.credential, .proof]))
            #expect(
                RequestFieldTable.known.entry(of: name)?.name
                    == Self.expected(name, Set(RequestFieldTable.Meaning.allCases))
            )
        }
    }

    @Test func namesAreUniqueAndLowerCase() {
        let names = RequestFieldTable.all.map { $0.name + ($0.isFamily ? "*" : "") }
        #expect(Set(names).count == names.count)
        #expect(names.allSatisfy { name in name.utf8.allSatisfy { $0 != 0x5F && !(0x41...0x5A).contains($0) } })
    }

    @Test func redactsCredentials() {
        for entry in RequestFieldTable.all where entry.meaning == .credential || entry.meaning == .proof {
            #expect(
                Redaction.fields([.init(entry.name) ?? .cookie: "secret-value"]).allSatisfy { $0.value == "REDACTED" }
            )
        }
    }
}
