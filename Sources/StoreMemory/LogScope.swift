/// The scope of a logged invalidation, as the database numbers it.
package enum LogScope: Int64 {
    case all = 0
    case target = 1
    case key = 2
    case tag = 3
    /// It has a number so that the sidecar knows of it. Fetches of objects are checked against it;
    /// fetches of responses are not.
    case object = 4
    /// The hash is the origin's. In-flight fetches of the whole origin are checked against it,
    /// because the prefix itself may no longer be recorded by then.
    case prefix = 5
    /// The hash is that of the principal.
    case principal = 6
    /// Objects whose keys begin with some bytes; checked as ``object`` is.
    case objects = 7
}
