extension Configuration {
    /// The longest `drain.delay`: 10 minutes. A service manager or a platform kills a process that
    /// takes longer.
    public static let longestDrainDelay = Duration.seconds(600)

    /// The delay of a file that names none: 5 s where load balancers can ask for the gateway's
    /// readiness, which is on `control.listen` and on `health.path`, else none.
    ///
    /// - Parameter isControlled: whether the control plane is on.
    package func standardDrainDelay(isControlled: Bool) -> Duration {
        let isReadinessSeen = health.path != nil || (isControlled && control.listen != nil)
        return isReadinessSeen ? .seconds(5) : .zero
    }

    /// The value of `drain.delay` as a file would hold it.
    package static func text(drainDelay: Duration) -> String {
        drainDelay > .zero ? Quantity.written(drainDelay) : "off"
    }
}
