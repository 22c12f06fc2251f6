import Synchronization

/// A contract rule that an implementation breaks.
public struct ContractFinding: Sendable, Hashable, CustomStringConvertible {
    /// The rule.
    public let rule: String
    /// The operation, the expected result and the actual result.
    public let detail: String

    package init(rule: String, detail: String) {
        self.rule = rule
        self.detail = detail
    }

    /// The rule and the detail in one line.
    public var description: String { "\(rule) — \(detail)" }
}

/// Collects the findings of a check.
package final class Findings: Sendable {
    package let rule: String
    private let found = Mutex<[ContractFinding]>([])

    package init(rule: String) { self.rule = rule }

    package var all: [ContractFinding] { found.withLock { $0 } }

    /// Records a violation. At most five violations of a rule are recorded.
    package func add(_ detail: String) {
        found.withLock { if $0.count < 5 { $0.append(ContractFinding(rule: rule, detail: detail)) } }
    }

    package func expect(_ isKept: Bool, _ detail: @autoclosure () -> String) {
        if !isKept { add(detail()) }
    }

    package func equal<Value: Equatable>(_ value: Value, _ expected: Value, _ what: @autoclosure () -> String) {
        if value != expected { add("\(what()): expected \(expected), got \(value)") }
    }

    /// Returns the value. If it is `nil`, records a finding and ends the check.
    package func unwrap<Value>(_ value: Value?, _ detail: @autoclosure () -> String) throws -> Value {
        guard let value else {
            add(detail())
            throw CheckEnded()
        }
        return value
    }
}

/// Ends a check whose finding is already recorded.
package struct CheckEnded: Error {
    package init() {}
}

/// Runs a check and returns its findings, including a thrown error and a timeout.
package func findings(
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
            // Only an implementation that violates the contract takes this long.
            if (try? await Task.sleep(for: timeout)) != nil { findings.add("it did not end within \(timeout)") }
        }
        await group.next()
        group.cancelAll()
    }
    return findings.all
}
