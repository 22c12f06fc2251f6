import Testing

/// Replays what fuzzers were given and what they found, through the same target functions.
///
/// It comes out the same on every machine; to find more is the business of `make fuzz`.
@Suite("Recorded inputs of the fuzzers")
struct FuzzReplayTests {
    @Test(arguments: try RecordedInput.all())
    func everyClaimHolds(_ input: RecordedInput) throws {
        let target = try #require(FuzzTarget.all.first { $0.name == input.target }, "no target is called so")
        try input.bytes().withUnsafeBufferPointer { target.run($0) }
    }

    /// A folder with a wrong name would be replayed by nothing, and a target without inputs would
    /// test nothing.
    @Test func everyTargetHasInputs() throws {
        #expect(try RecordedInput.names(RecordedInput.corpus) == FuzzTarget.all.map(\.name).sorted())
        for target in FuzzTarget.all {
            #expect(try !RecordedInput.names("\(RecordedInput.corpus)/\(target.name)").isEmpty)
        }
    }

    /// Mutant: `require` that records nothing.
    @Test func aBrokenClaimIsAnIssue() {
        withKnownIssue {
            require(false, "it does not hold")
        } matching: {
            $0.comments.contains("Broken claim: it does not hold")
        }
        require(true, "it holds")
    }
}
