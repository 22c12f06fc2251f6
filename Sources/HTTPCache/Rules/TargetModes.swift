package import HTTPCacheSemantics

/// Modes that an operator set for some targets, such as those of one origin. Each can restrict the
/// engine's mode but never relax it.
package protocol TargetModes: Sendable {
    /// Returns the strictest of the modes for a target; `nil` if there is none. It is called for
    /// every request that is not a repeated hit from memory.
    func mode(for target: TargetURI) -> OfflineMode?
}

/// An engine's mode, and its stricter modes for some targets.
struct EngineModes: Sendable {
    var mode: OfflineMode
    var ofTargets: (any TargetModes)?

    /// Returns the mode for a target, before rules.
    func mode(for target: TargetURI) -> OfflineMode {
        ofTargets.map { OfflineMode.leastNetwork(mode, $0.mode(for: target)) } ?? mode
    }
}
