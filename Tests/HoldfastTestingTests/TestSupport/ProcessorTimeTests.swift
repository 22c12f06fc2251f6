import TestSupport
import Testing

/// A step is too long only if it is too long each time.
struct ProcessorTimeTests {
    private static let long = ProcessorTime.limit * 2

    /// Returns the slow steps of a body that takes these times for its one step, run by run; the
    /// last time counts for all further runs.
    private func slowSteps(_ times: Duration...) async -> (slow: [String], runs: Int) {
        var runs = 0
        let slow = await ProcessorTime.stepsOverLimit(slowdown: { 1 }) { steps in
            steps.add("step", times[min(runs, times.count - 1)])
            runs += 1
        }
        return (slow, runs)
    }

    @Test func aShortStepRunsOnce() async {
        let result = await slowSteps(.zero)
        #expect(result.slow.isEmpty && result.runs == 1)
    }

    @Test func aStepThatIsLongOnceRunsAgain() async {
        let result = await slowSteps(Self.long, .zero)
        #expect(result.slow.isEmpty && result.runs == 2)
    }

    @Test func aStepThatIsLongEachTimeIsNamed() async {
        let result = await slowSteps(Self.long * 2, Self.long)
        #expect(result.slow == ["step: \(Self.long)"] && result.runs == 5)
    }

    /// Of steps with one name in one run, the longest counts.
    @Test func aShortStepDoesNotHideALongOne() async {
        let slow = await ProcessorTime.stepsOverLimit(slowdown: { 1 }) { steps in
            steps.add("step", Self.long)
            steps.add("step", .zero)
        }
        #expect(slow.count == 1)
    }

    /// On a machine that is slow now, the same work may take longer.
    @Test func aStepMayTakeLongerOnASlowMachine() async {
        let slow = await ProcessorTime.stepsOverLimit(slowdown: { 3 }) { $0.add("step", Self.long) }
        #expect(slow.isEmpty)
        #expect(ProcessorTime.slowdown() >= 1)
    }
}
