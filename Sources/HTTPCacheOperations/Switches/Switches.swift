package import HTTPCacheSemantics

/// The switches in force, one for each subject. A pure value: it knows no clock and no store.
///
/// A mode can only restrict a request further, so the strictest mode that applies wins, whatever
/// the order in which modes were set.
package struct Switches: KeptValue {
    /// The maximum number of switches in force.
    package static let limit = 32

    package static var settingName: String { "switches" }

    /// The switches in the order in which they were set.
    package private(set) var all: [Switch] = []

    /// Creates a table without switches.
    package init() {}

    /// Whether there are no switches.
    package var isEmpty: Bool { all.isEmpty }

    /// Sets a switch, and replaces the previous one of the same subject.
    ///
    /// - Returns: `false` if there are too many switches. Nothing has changed then.
    package mutating func set(_ new: Switch) -> Bool {
        if let index = all.firstIndex(where: { $0.subject == new.subject }) {
            all[index] = new
            return true
        }
        guard all.count < Self.limit else { return false }
        all.append(new)
        return true
    }

    /// Ends a switch.
    ///
    /// - Returns: the switch; `nil` if there is none.
    @discardableResult
    package mutating func end(_ subject: Switch.Subject) -> Switch? {
        all.firstIndex { $0.subject == subject }.map { all.remove(at: $0) }
    }

    /// Ends the switches whose time is over, and returns them.
    package mutating func expire(at now: Timestamp) -> [Switch] {
        let over = all.filter { $0.isOver(at: now) }
        if !over.isEmpty { all.removeAll { $0.isOver(at: now) } }
        return over
    }

    /// When the next switch ends; `nil` if there are none.
    package var nextEnd: Timestamp? { all.map(\.until).min() }

    /// When the last switch ends; `nil` if there are none.
    package var lastEnd: Timestamp? { all.map(\.until).max() }

    /// The switches that set a mode.
    package var modes: [Switch] { all.filter { $0.mode != nil } }

    /// The switches that drain a server.
    package var drains: [Switch] { all.filter { $0.mode == nil } }

    /// Returns the switch of a subject; `nil` if there is none.
    package func of(_ subject: Switch.Subject) -> Switch? { all.first { $0.subject == subject } }

    /// Returns the switches that have no effect, because the configuration has no such origin,
    /// route or server: a reload has removed or renamed it.
    package func withoutSubject(origins: [String], routes: [String], servers: [String: [String]]) -> [Switch] {
        all.filter { one in
            switch one.subject {
            case .origin(let url): !origins.contains(url)
            case .route(let name): !routes.contains(name)
            case .server(let name, let origin): servers[origin]?.contains(name) != true
            }
        }
    }

    /// The names of the drained servers, by their origin's URL.
    package var drainedServers: [String: Set<String>] {
        var result: [String: Set<String>] = [:]
        for drain in drains {
            guard case .server(let name, let origin) = drain.subject else { continue }
            result[origin, default: []].insert(name)
        }
        return result
    }
}
