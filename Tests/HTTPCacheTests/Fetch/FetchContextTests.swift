import HTTPCacheSemantics
import HTTPTypes
import Testing

@testable import HTTPCache

/// The decisions of an in-flight fetch about a response, each with its neighbors, without an
/// engine, a store or a clock.
@Suite(.timeLimit(.minutes(20))) struct FetchContextTests {
    @Test(arguments: FetchCase.alone) func responseWithNothingStored(example: FetchCase) throws {
        #expect(FetchCase.Decision(try example.decide()) == example.decision)
    }

    @Test(arguments: FetchCase.ofCallers) func responseToAnIdentifiedCaller(example: FetchCase) throws {
        #expect(FetchCase.Decision(try example.decide()) == example.decision)
    }

    @Test(arguments: FetchCase.besideSuccess) func responseBesideStoredSuccess(example: FetchCase) throws {
        #expect(FetchCase.Decision(try example.decide()) == example.decision)
    }

    @Test(arguments: FetchCase.validating) func responseToValidation(example: FetchCase) throws {
        #expect(FetchCase.Decision(try example.decide()) == example.decision)
    }

    @Test(arguments: FetchCase.completing) func responseToRequestForTheRest(example: FetchCase) throws {
        #expect(FetchCase.Decision(try example.decide()) == example.decision)
    }

    @Test(arguments: FetchCase.combining) func partBesideStoredResponse(example: FetchCase) throws {
        #expect(FetchCase.Decision(try example.decide()) == example.decision)
    }

    /// A decision that no case shows would have no test.
    @Test func everyDecisionHasACase() {
        let all =
            FetchCase.alone + FetchCase.ofCallers + FetchCase.besideSuccess + FetchCase.validating
            + FetchCase.completing
            + FetchCase.combining
        let shown = Set(all.map(\.decision))
        let plain: Set<FetchCase.Decision> = [
            .freshens, .confirms, .asksAgain, .completes, .combines, .refuses, .stores, .storesForPrincipal,
        ]
        #expect(plain.isSubset(of: shown))
        // These are found elsewhere: before the request is sent, while the body comes, or never for
        // a final response.
        let elsewhere: Set<StorageRefusal> = [
            .bypass, .bodyLength, .unclearEnd, .statusNotFinal, .cutShort, .lastEvent, .fewUses,
        ]
        for refusal in StorageRefusal.allCases where !elsewhere.contains(refusal) {
            #expect(shown.contains(.passes(refusal)), "\(refusal)")
        }
    }
}
