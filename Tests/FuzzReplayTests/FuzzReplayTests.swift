import Testing

/// Replays the fuzzers' recorded inputs and findings through the same target functions.
///
/// The result is the same on every machine; `make fuzz` searches for more.
@Suite(.timeLimit(.minutes(20))) struct FuzzReplayTests {
    @Test(arguments: try RecordedInput.all())
    func everyClaimHolds(_ input: RecordedInput) throws {
        let target = try #require(FuzzTarget.all.first { $0.name == input.target }, "there is no target of this name")
        try input.bytes().withUnsafeBufferPointer { target.run($0) }
    }

    /// No test would replay a folder with a wrong name, and a target without inputs would test
    /// nothing.
    @Test func everyTargetHasInputs() throws {
        #expect(try RecordedInput.names(RecordedInput.corpus) == FuzzTarget.all.map(\.name).sorted())
        for target in FuzzTarget.all {
            #expect(try !RecordedInput.names("\(RecordedInput.corpus)/\(target.name)").isEmpty)
        }
    }

    /// Mutant: `require` records nothing.
    @Test func brokenClaimRecordsAnIssue() {
        withKnownIssue {
            require(false, "it does not hold")
        } matching: {
            $0.comments.contains("Broken claim: it does not hold")
        }
        require(true, "it holds")
    }
}
