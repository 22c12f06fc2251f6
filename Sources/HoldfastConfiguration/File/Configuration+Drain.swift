import CacheRules

extension Configuration {
    /// The maximum `drain.delay`: 10 minutes. Service managers and platforms usually kill a process
    /// that takes longer to stop.
    package static let longestDrainDelay = Duration.seconds(600)

    /// Returns the default delay: 5 s if load balancers can check readiness, on `control.listen`,
    /// `health.path` or `health.ready`; otherwise zero.
    ///
    /// - Parameter isControlled: whether the control plane is enabled.
    package func standardDrainDelay(isControlled: Bool) -> Duration {
        let isReadinessSeen =
            health.path != nil || health.ready != nil || (isControlled && control.listen != nil)
        return isReadinessSeen ? .seconds(5) : .zero
    }

    /// Returns the value of `drain.delay` as written in a file.
    package static func text(drainDelay: Duration) -> String {
        drainDelay > .zero ? Quantity.written(drainDelay) : "off"
    }
}
