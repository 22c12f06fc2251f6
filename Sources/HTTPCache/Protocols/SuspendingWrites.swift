/// A store that writes without blocking its caller's thread: it suspends while the disk works.
///
/// That applies to ``ResponseStore/beginWrite(_:fence:)`` and to all functions of its writers
/// except ``ResponseWriter/readBack(from:)``. So an event loop may call them, and a passing
/// response is stored without a change of threads for each step.
package protocol SuspendingWrites: ResponseStore {}
