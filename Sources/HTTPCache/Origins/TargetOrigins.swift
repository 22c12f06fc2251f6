package import HTTPCacheSemantics

/// The origins that get the requests for targets.
///
/// A target names the host that is in the key. A gateway may send its clients' hosts to an origin,
/// so targets with many hosts may have one origin, and clients choose these hosts. The state of
/// origins (breakers, limits, outages, probes, metrics) must not grow with them.
package protocol TargetOrigins: Sendable {
    /// Returns the origin that gets a target's requests. It is called for every request that may be
    /// sent, and the result may change with the configuration.
    func origin(of target: TargetURI) -> Origin

    /// Returns whether only clients name a target's origin, and the configuration does not. It is
    /// called only after a failure.
    func isChosenByClients(_ target: TargetURI) -> Bool
}

extension TargetOrigins {
    /// Always `false`.
    package func isChosenByClients(_: TargetURI) -> Bool { false }
}
