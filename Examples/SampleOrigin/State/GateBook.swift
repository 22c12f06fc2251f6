import Synchronization

/// The named gates. A test or a request creates one, whichever comes first.
final class GateBook: Sendable {
    /// How many of them requests may make.
    static let maximumNames = 1_000

    private let gates = Mutex<[String: Gate]>([:])

    /// The gate of this name.
    func gate(_ name: String) -> Gate {
        gates.withLock { gates in
            let gate = gates[name] ?? Gate()
            gates[name] = gate
            return gate
        }
    }

    /// The gate of this name, unless it is a new one and there are too many.
    func gate(forRequest name: String) -> Gate? {
        gates.withLock { gates in
            guard let gate = gates[name] ?? (gates.count < Self.maximumNames ? Gate() : nil) else { return nil }
            gates[name] = gate
            return gate
        }
    }

    /// Opens all of them and forgets them: the same name is a closed gate again.
    func reset() {
        let forgotten = gates.withLock { gates in
            defer { gates.removeAll() }
            return gates.values.map { $0 }
        }
        for gate in forgotten { gate.open() }
    }
}
