/// The event that goes through every client's pipeline when the gateway shuts down.
struct DrainEvent: Sendable {}
