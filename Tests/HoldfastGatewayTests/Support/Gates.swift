import Synchronization

/// Gates by name. A task waits at a gate until it is opened, and a test can wait until a task has
/// arrived.
final class Gates: Sendable {
    private struct Gate {
        var isOpen = false
        var hasArrival = false
        var passing: [@Sendable () -> Void] = []
        var watching: [@Sendable () -> Void] = []
    }

    private let gates = Mutex<[String: Gate]>([:])

    /// Waits at a gate until it is open.
    func pass(_ name: String) async {
        let watching = gates.withLock { gates in
            gates[name, default: Gate()].hasArrival = true
            defer { gates[name]?.watching = [] }
            return gates[name]?.watching ?? []
        }
        for call in watching { call() }
        await untilCalled { call in
            let isOpen = gates.withLock { gates in
                let isOpen = gates[name]?.isOpen == true
                if !isOpen { gates[name, default: Gate()].passing.append(call) }
                return isOpen
            }
            if isOpen { call() }
        }
    }

    /// Opens a gate permanently.
    func open(_ name: String) {
        let passing = gates.withLock { gates in
            gates[name, default: Gate()].isOpen = true
            defer { gates[name]?.passing = [] }
            return gates[name]?.passing ?? []
        }
        for call in passing { call() }
    }

    /// Returns when a task waits at the gate, or has passed it.
    func arrival(at name: String) async {
        await untilCalled { call in
            let hasArrival = gates.withLock { gates in
                let hasArrival = gates[name, default: Gate()].hasArrival
                if !hasArrival { gates[name, default: Gate()].watching.append(call) }
                return hasArrival
            }
            if hasArrival { call() }
        }
    }
}
