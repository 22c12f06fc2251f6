import Synchronization

/// The state that all threads of a run share: the versions of the resources, the oracle, the
/// gateway's port, the end.
final class World: Sendable {
    let seed: UInt64
    let noise: Noise
    let statistics = Statistics()
    /// Writes the run down, if that is wanted.
    let recorder: Recorder?
    private let oracle: Mutex<Oracle>
    private let state = Mutex(State())

    private struct State {
        var versions: [String: Int] = [:]
        var port = 0
        var findings: [Finding] = []
        var isOver = false
        var numbers = 0
    }

    init(seed: UInt64, recorder: Recorder? = nil) {
        self.seed = seed
        self.recorder = recorder
        let oracle = Oracle(seed: seed)
        noise = oracle.noise
        self.oracle = Mutex(oracle)
    }

    // MARK: Versions

    func version(_ resource: Resource) -> Int { state.withLock { $0.versions[resource.target] ?? 1 } }

    /// Makes a next version of a resource the current one.
    ///
    /// - Returns: its number.
    @discardableResult
    func change(_ resource: Resource) -> Int {
        state.withLock { state in
            let next = (state.versions[resource.target] ?? 1) + 1
            state.versions[resource.target] = next
            return next
        }
    }

    func representation(_ resource: Resource, version: Int, selector: String) -> Representation {
        Representation(resource, version: version, selector: selector, noise: noise)
    }

    // MARK: Oracle

    func tell(_ body: (inout Oracle) -> Void) { oracle.withLock { body(&$0) } }

    var unexplained: Int { oracle.withLock { $0.unexplained } }

    /// Judges an exchange; a finding ends the run.
    func judge(_ exchange: ObservedExchange) {
        let findings = oracle.withLock { $0.judge(exchange) }
        statistics.record(exchange)
        for finding in findings { report(finding) }
    }

    func report(_ finding: Finding) {
        state.withLock { state in
            // After the first finding come its consequences, such as connections that end with the
            // run.
            guard !state.isOver || state.findings.isEmpty && finding.exchange == nil else { return }
            state.findings.append(finding)
            state.isOver = true
        }
    }

    var findings: [Finding] { state.withLock { $0.findings } }

    // MARK: The run

    var isOver: Bool { state.withLock { $0.isOver } }

    func end() { state.withLock { $0.isOver = true } }

    /// The port of the gateway; zero while it does not listen.
    var gatewayPort: Int {
        get { state.withLock { $0.port } }
        set { state.withLock { $0.port = newValue } }
    }

    /// A number that no other request of the run has.
    func nextNumber() -> Int {
        state.withLock { state in
            state.numbers += 1
            return state.numbers
        }
    }
}
