/// The behaviour of a node that has lost sight of the shared log.
package enum CutOff: Sendable, Hashable {
    /// It keeps serving what it has, so a purge is not in force there.
    case serve
    /// When its lease has run out, it serves nothing without validation.
    case validate
}
