/// The behavior of a node that has lost contact with the fleet log.
package enum CutOff: Sendable, Hashable {
    /// The node keeps serving stored responses, so purges of other nodes do not take effect there
    /// until it has contact again.
    case serve
    /// Once its lease has expired, the node validates every response before serving it, unless the
    /// origin is unreachable or must not be contacted.
    case validate
}
