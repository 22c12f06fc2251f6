/// The operations of a node on the fleet that it shares purges with.
package protocol SharingOperations: Sendable {
    /// The state for health reports.
    var condition: FleetCondition { get }

    /// The level to wait for if a purge does not specify one.
    var acknowledgedLevel: PurgeLevel { get }

    /// Waits until all purges requested here before this call have reached a level, the time limit
    /// passes, or the task is canceled.
    ///
    /// This method does not fail; it returns the level that was reached. Purges continue to spread
    /// whether or not a caller waits.
    func reach(_ level: PurgeLevel, within limit: Duration) async -> PurgeReach

    /// Returns this node's view of the fleet. The list of other nodes is `nil` if this node is not
    /// following the log, or if the log's server does not respond. Makes a few calls to the server,
    /// each within the configured time limit.
    func fleet() async -> FleetState
}
