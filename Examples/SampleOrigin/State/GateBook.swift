import Synchronization

/// The named gates. The first test or request that uses a name creates its gate.
final class GateBook: Sendable {
    /// The maximum number of gates that requests can create.
    static let maximumNames = 1_000

    private let gates = Mutex<[String: Gate]>([:])

    /// Returns the gate with this name. Creates it if necessary.
    func gate(_ name: String) -> Gate {
        gates.withLock { gates in
            let gate = gates[name] ?? Gate()
            gates[name] = gate
            return gate
        }
    }

    /// Returns the gate with this name; `nil` if it would be a new gate and there are too many.
    func gate(forRequest name: String) -> Gate? {
        gates.withLock { gates in
            guard let gate = gates[name] ?? (gates.count < Self.maximumNames ? Gate() : nil) else { return nil }
            gates[name] = gate
            return gate
        }
    }

    /// Opens and removes all gates. A name that is used again gets a new, closed gate.
    func reset() {
        let forgotten = gates.withLock { gates in
            defer { gates.removeAll() }
            return gates.values.map { $0 }
        }
        for gate in forgotten { gate.open() }
    }
}
