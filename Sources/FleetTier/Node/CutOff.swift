/// The behavior of a node that has lost contact with the fleet log.
package enum CutOff: Sendable, Hashable {
    /// The node keeps serving stored responses, so new purges do not take effect there.
    case serve
    /// Once its lease has expired, the node validates every response before serving it.
    case validate
}
