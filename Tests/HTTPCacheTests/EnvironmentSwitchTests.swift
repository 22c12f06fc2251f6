import HTTPCache
import Logging
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(20))) struct EnvironmentSwitchTests {
    @Test(arguments: [(nil, true), ("on", true), ("off", false), ("OFF", true), ("0", true), ("", true)])
    func onlyOffTurnsOff(_ value: String?, _ isOn: Bool) {
        #expect(EnvironmentSwitch("HOLDFAST_PART", value: value).isOn == isOn)
    }

    /// The value itself is not logged: an environment holds secrets, and a wrong name may name one.
    @Test(arguments: [(nil, nil), ("on", nil), ("off", "info"), ("no", "warning"), ("", "warning")])
    func reportsWhatIsUnusual(_ value: String?, _ expected: String?) {
        let lines = Mutex<[(level: String, text: String)]>([])
        let logger = Logger(label: "test") { _ in
            RecordingLogHandler { level, text in lines.withLock { $0.append((level, text)) } }
        }
        EnvironmentSwitch("HOLDFAST_PART", value: value).report(to: logger)
        let found = lines.withLock { $0 }
        #expect(found.map(\.level) == (expected.map { [$0] } ?? []))
        #expect(found.allSatisfy { $0.text.contains("HOLDFAST_PART") })
    }
}

private struct RecordingLogHandler: LogHandler {
    let record: @Sendable (_ level: String, _ text: String) -> Void
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    init(_ record: @escaping @Sendable (_ level: String, _ text: String) -> Void) { self.record = record }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        record("\(event.level)", "\(event.message) \(event.metadata ?? [:])")
    }
}
