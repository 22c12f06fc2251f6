/// The behavior of a node that has lost contact with the fleet log.
package enum CutOff: Sendable, Hashable {
    /// It keeps serving stored responses, so new purges are not in force there.
    case serve
    /// Once its lease has expired, it validates every response before serving it.
    case validate
}
