/// The operations of a node on the fleet with which it shares its purges.
public protocol SharingOperations: Sendable {
    /// The state for health reports.
    var condition: FleetCondition { get }

    /// The level for which a purge waits that names none.
    var acknowledgedLevel: PurgeLevel { get }

    /// Waits until everything that was purged here before this call has come as far as a level, at
    /// most for a time, and at most until the task is cancelled.
    ///
    /// It does not fail: the level that was reached is the answer. Nothing depends on the wait:
    /// purges continue without it.
    func reach(_ level: PurgeLevel, within limit: Duration) async -> PurgeReach

    /// This node and the others. It takes no longer than a few calls of the log's server may.
    func fleet() async -> FleetState
}
