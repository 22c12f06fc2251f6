import HTTPTypes
import Testing

@testable import HTTPCacheSemantics

/// The client's scheme as a selecting field that no `Vary` names.
@Suite(.timeLimit(.minutes(20))) struct ClientSchemeSelectionTests {
    private static let (http, https) = ([("X-Forwarded-Proto", "http")], [("X-Forwarded-Proto", "https")])

    private var selecting: CachePolicy {
        var policy = CachePolicy.shared
        policy.selectsByScheme = true
        return policy
    }

    @Test func isRecordedBesideVary() {
        for vary in [[], [("Vary", "Accept")], [("Vary", "accept, x-forwarded-proto")]] {
            let own = request(Self.https + [("Accept", "a")])
            let recorded = selecting.selectingFields(of: own, for: response(vary))
            #expect(recorded[.clientScheme] == "https")
            #expect(recorded.contains(.accept) == !vary.isEmpty && recorded.count == (vary.isEmpty ? 1 : 2))
            #expect(selecting.selectingNames(of: fields(vary))?.contains("x-forwarded-proto") == true)
        }
        #expect(CachePolicy.shared.selectingFields(of: request(Self.https), for: response()).isEmpty)
        #expect(CachePolicy.shared.selectingNames(of: [:]) == [])
    }

    /// A recorded scheme counts whatever is set now; one that is not recorded is no scheme.
    @Test func matchesItsOwnSchemeAlone() {
        for vary in [[], [("Vary", "Accept")]] {
            let recorded = stored(vary, selecting: [("x-forwarded-proto", "https")])
            for policy in [selecting, .shared] {
                #expect(policy.matchesVariant(recorded, request(Self.https)))
                #expect(!policy.matchesVariant(recorded, request(Self.http)))
                #expect(!policy.matchesVariant(recorded, request()))
            }
            #expect(!selecting.matchesVariant(stored(vary), request(Self.https)))
            #expect(CachePolicy.shared.matchesVariant(stored(vary), request(Self.https)))
        }
    }

    @Test func freshenedResponseKeepsIt() {
        let head = stored([("ETag", "\"1\""), ("Vary", "Accept")], selecting: [("x-forwarded-proto", "https")])
        let update = response([("ETag", "\"1\""), ("Vary", "Accept-Language")], status: 304)
        let new = selecting.freshened(
            head,
            by: update,
            requestTime: noon,
            responseTime: noon,
            request: request(Self.https)
        )
        #expect(new?.selectingFields == fields([("x-forwarded-proto", "https")]))
    }

    @Test func isExplained() {
        let recorded = stored([("Vary", "Accept")], selecting: [("accept", "a"), ("x-forwarded-proto", "https")])
        #expect(selecting.varyNames(of: recorded) == ["accept", "x-forwarded-proto"])
        #expect(
            selecting.differingFields(of: recorded, request([("Accept", "a")] + Self.http)) == ["x-forwarded-proto"]
        )
        #expect(selecting.differingFields(of: recorded, request([("Accept", "b")] + Self.https)) == ["accept"])
        #expect(selecting.differingFields(of: recorded, request([("Accept", "a")] + Self.https)).isEmpty)
    }
}
