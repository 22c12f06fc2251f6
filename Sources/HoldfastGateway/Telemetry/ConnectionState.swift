/// The states of a client connection: the label `state` of `holdfast_client_connections`.
///
/// A connection that is reading a request's head still counts as idle, because distinguishing the
/// two would add a cost to every hit.
enum ConnectionState: Int, CaseIterable {
    /// Waiting for a request, or for the rest of its head.
    case idle
    /// A request is in progress.
    case active
    /// The last response is written. The client must still read it, or the rest of its input is
    /// being dropped.
    case closing
}
