import HTTPCache
import Logging
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20))) struct EnvironmentSwitchTests {
    @Test(arguments: [(nil, true), ("on", true), ("off", false), ("OFF", true), ("0", true), ("", true)])
    func onlyOffTurnsOff(_ value: String?, _ isOn: Bool) {
        #expect(EnvironmentSwitch("HOLDFAST_PART", value: value).isOn == isOn)
    }

    /// The value itself is not logged: an environment holds secrets, and a wrong name may name one.
    @Test(arguments: [(nil, nil), ("on", nil), ("off", "info"), ("no", "warning"), ("", "warning")])
    func reportsWhatIsUnusual(_ value: String?, _ expected: String?) {
        let log = CapturedLog()
        EnvironmentSwitch("HOLDFAST_PART", value: value).report(to: log.logger())
        #expect(log.events.map(\.level.rawValue) == (expected.map { [$0] } ?? []))
        #expect(log.lines.allSatisfy { $0.contains("HOLDFAST_PART") })
    }
}
