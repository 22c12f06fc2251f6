/// The states of a client's connection: the label `state` of `holdfast_client_connections`.
///
/// A connection that reads a request's head is idle still: to tell these apart would cost on every
/// hit.
enum ConnectionState: Int, CaseIterable {
    /// It waits for a request, or for the rest of its head.
    case idle
    /// A request is under way.
    case active
    /// The last response is written; the client has yet to read it, or the rest of what it sends is
    /// dropped.
    case closing
}
