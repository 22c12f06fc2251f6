/// The event that goes through every client's pipeline when the gateway shuts down.
package struct DrainEvent: Sendable {
    package init() {}
}
