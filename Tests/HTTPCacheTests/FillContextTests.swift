import HTTPCacheSemantics
import HTTPTypes
import Testing

@testable import HTTPCache

/// The decisions of an in-flight fetch about a response, each with its neighbours, without an
/// engine, a store or a clock.
@Suite(.timeLimit(.minutes(20))) struct FillContextTests {
    @Test(arguments: FillCase.alone) func responseWithNothingStored(example: FillCase) throws {
        #expect(FillCase.Decision(try example.decide()) == example.decision)
    }

    @Test(arguments: FillCase.ofCallers) func responseToAnIdentifiedCaller(example: FillCase) throws {
        #expect(FillCase.Decision(try example.decide()) == example.decision)
    }

    @Test(arguments: FillCase.besideSuccess) func responseBesideStoredSuccess(example: FillCase) throws {
        #expect(FillCase.Decision(try example.decide()) == example.decision)
    }

    @Test(arguments: FillCase.validating) func responseToValidation(example: FillCase) throws {
        #expect(FillCase.Decision(try example.decide()) == example.decision)
    }

    @Test(arguments: FillCase.completing) func responseToRequestForTheRest(example: FillCase) throws {
        #expect(FillCase.Decision(try example.decide()) == example.decision)
    }

    @Test(arguments: FillCase.combining) func partBesideStoredResponse(example: FillCase) throws {
        #expect(FillCase.Decision(try example.decide()) == example.decision)
    }

    /// A decision that no case shows would have no test.
    @Test func everyDecisionHasACase() {
        let all =
            FillCase.alone + FillCase.ofCallers + FillCase.besideSuccess + FillCase.validating + FillCase.completing
            + FillCase.combining
        let shown = Set(all.map(\.decision))
        let plain: Set<FillCase.Decision> = [
            .freshens, .confirms, .asksAgain, .completes, .combines, .refuses, .stores, .storesForPrincipal,
        ]
        #expect(plain.isSubset(of: shown))
        // These are found elsewhere: before the request is sent, while the body comes, or never for
        // a final response.
        let elsewhere: Set<StorageRefusal> = [.bypass, .bodyLength, .unclearEnd, .statusNotFinal]
        for refusal in StorageRefusal.allCases where !elsewhere.contains(refusal) {
            #expect(shown.contains(.passes(refusal)), "\(refusal)")
        }
    }
}
