import Synchronization

/// A sentence of a contract that an implementation breaks.
public struct ContractFinding: Sendable, Hashable, CustomStringConvertible {
    /// The sentence.
    public let rule: String
    /// What was done, what was to be expected, what came.
    public let detail: String

    /// Both in one line.
    public var description: String { "\(rule) — \(detail)" }
}

/// Collects what a check finds.
final class Findings: Sendable {
    let rule: String
    private let found = Mutex<[ContractFinding]>([])

    init(rule: String) { self.rule = rule }

    var all: [ContractFinding] { found.withLock { $0 } }

    /// Notes a breach; a rule that is broken in very many places is told of a few times.
    func add(_ detail: String) {
        found.withLock { if $0.count < 5 { $0.append(ContractFinding(rule: rule, detail: detail)) } }
    }

    func expect(_ isKept: Bool, _ detail: @autoclosure () -> String) {
        if !isKept { add(detail()) }
    }

    func equal<Value: Equatable>(_ value: Value, _ expected: Value, _ what: @autoclosure () -> String) {
        if value != expected { add("\(what()): \(expected) was to be expected, \(value) came") }
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

/// Ends a check that has noted why.
struct CheckEnded: Error {}

/// Runs a check; what it throws and that it does not end in time are findings too.
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
            // Only whoever breaks the contract is waited for so long.
            if (try? await Task.sleep(for: timeout)) != nil { findings.add("it did not end within \(timeout)") }
        }
        await group.next()
        group.cancelAll()
    }
    return findings.all
}
