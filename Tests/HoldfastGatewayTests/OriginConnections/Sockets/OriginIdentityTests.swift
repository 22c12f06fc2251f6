import NIOSSL
import Testing

@testable import HoldfastGateway
@testable import OriginConnections

@Suite(.timeLimit(.minutes(20))) struct OriginIdentityTests {
    private static func isFor(_ host: String, dns names: String...) -> Bool {
        OriginIdentity(host).matches(names.map { (.dnsName, Array($0.utf8)) })
    }

    @Test func comparesNamesWithoutCaseAndFinalDot() {
        #expect(Self.isFor("origin.example", dns: "other.example", "ORIGIN.example"))
        #expect(Self.isFor("Origin.Example.", dns: "origin.example"))
        #expect(Self.isFor("origin.example", dns: "origin.example."))
        for other in ["", ".", "example", "a.origin.example", "origin.example.evil", "origin.example\0.evil", "*"] {
            #expect(!Self.isFor("origin.example", dns: other), "\(other)")
        }
        // The sign of the unit kelvin is no 'k', whatever case it has.
        #expect(!Self.isFor("kiosk.example", dns: "\u{212A}iosk.example"))
    }

    /// Mutant: a wildcard stands for any number of labels.
    @Test func wildcardIsWholeFirstLabelAndStandsForOne() {
        #expect(Self.isFor("api.origin.example", dns: "*.ORIGIN.example"))
        for (host, name) in [
            ("origin.example", "*.origin.example"), ("a.b.origin.example", "*.origin.example"),
            ("api.origin.example", "a*.origin.example"), ("api.origin.example", "*pi.origin.example"),
            ("api.origin.example", "api.*.example"), ("api.origin.example", "*.*.example"), ("localhost", "*"),
            (".origin.example", "*.origin.example"), ("api.origin.example", "*.example"),
        ] { #expect(!Self.isFor(host, dns: name), "\(host) \(name)") }
    }

    @Test func comparesAddressesOnlyWithAddressesAndNamesOnlyWithNames() {
        let four: [(_SubjectAlternativeName.NameType, [UInt8])] = [(.ipAddress, [10, 0, 0, 7])]
        #expect(OriginIdentity("10.0.0.7").matches(four))
        #expect(!OriginIdentity("10.0.0.8").matches(four))
        #expect(!OriginIdentity("origin.example").matches(four))
        #expect(!Self.isFor("10.0.0.7", dns: "10.0.0.7", "*.0.0.7"))
        let six: [(_SubjectAlternativeName.NameType, [UInt8])] = [(.ipAddress, [UInt8](repeating: 0, count: 15) + [1])]
        #expect(OriginIdentity("::1").matches(six))
        #expect(!OriginIdentity("::1").matches([(.uri, Array("https://[::1]".utf8)), (.email, Array("::1".utf8))]))
        #expect(!OriginIdentity("::1").matches([]))
    }
}
