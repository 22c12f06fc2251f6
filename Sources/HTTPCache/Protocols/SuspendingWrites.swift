/// A store that writes without keeping its caller's thread: its disk is waited for by suspending.
///
/// That goes for ``ResponseStore/beginWrite(_:fence:)`` and for all that its writers do but
/// ``ResponseWriter/readBack(from:)``. So an event loop may call them, and what passes is stored
/// without a change of threads for each step.
package protocol SuspendingWrites: ResponseStore {}
