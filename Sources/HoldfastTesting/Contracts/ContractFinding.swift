import Synchronization

/// A sentence of a contract that an implementation breaks.
public struct ContractFinding: Sendable, Hashable, CustomStringConvertible {
    /// The sentence.
    public let rule: String
    /// The operation, the expected result and the actual one.
    public let detail: String

    /// Both in one line.
    public var description: String { "\(rule) — \(detail)" }
}

/// Collects the findings of a check.
final class Findings: Sendable {
    let rule: String
    private let found = Mutex<[ContractFinding]>([])

    init(rule: String) { self.rule = rule }

    var all: [ContractFinding] { found.withLock { $0 } }

    /// Records a breach. Further breaches of a rule that is broken often are left out.
    func add(_ detail: String) {
        found.withLock { if $0.count < 5 { $0.append(ContractFinding(rule: rule, detail: detail)) } }
    }

    func expect(_ isKept: Bool, _ detail: @autoclosure () -> String) {
        if !isKept { add(detail()) }
    }

    func equal<Value: Equatable>(_ value: Value, _ expected: Value, _ what: @autoclosure () -> String) {
        if value != expected { add("\(what()): expected \(expected), got \(value)") }
    }

    /// The value, or a finding and an end of the check.
    func unwrap<Value>(_ value: Value?, _ detail: @autoclosure () -> String) throws -> Value {
        guard let value else {
            add(detail())
            throw CheckEnded()
        }
        return value
    }
}

/// Ends a check that has recorded its finding.
struct CheckEnded: Error {}

/// Runs a check and returns its findings, including a thrown error and a timeout.
func findings(
    of rule: String,
    timeout: Duration,
    _ check: @escaping @Sendable (Findings) async throws -> Void
) async -> [ContractFinding] {
    let findings = Findings(rule: rule)
    await withTaskGroup(of: Void.self) { group in
        group.addTask {
            do { try await check(findings) } catch is CheckEnded {
            } catch is CancellationError {
            } catch { findings.add("an error was thrown: \(error)") }
        }
        group.addTask {
            // Only an implementation that breaks the contract takes this long.
            if (try? await Task.sleep(for: timeout)) != nil { findings.add("it did not end within \(timeout)") }
        }
        await group.next()
        group.cancelAll()
    }
    return findings.all
}
