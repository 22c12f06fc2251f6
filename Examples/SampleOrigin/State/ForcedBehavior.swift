/// A behavior of an origin that replaces or changes its usual response.
///
/// ```swift
/// origin.force(.status(503), times: 3)                  // the next three requests
/// origin.force(.hangUp, times: .max, path: "/moments")  // all requests for /moments
/// origin.force(.truncate(after: 100), path: "/moments") // the next one
/// ```
public struct ForcedBehavior: Sendable {
    enum Kind: Sendable {
        case status(Int, fields: [RecordedRequest.Field])
        case hangUp(reset: Bool)
        case truncate(after: Int)
        case hold(Gate)
        case holdBody([(after: Int, gate: Gate)])
        case setFields([RecordedRequest.Field])
        case respond(status: Int, fields: [RecordedRequest.Field], body: String)
    }

    let kind: Kind

    /// Responds with this status (400…599) and a JSON body that describes it.
    public static func status(_ code: Int, fields: [(name: String, value: String)] = []) -> Self {
        Self(kind: .status(min(max(code, 400), 599), fields: Self.fields(fields)))
    }

    /// Closes the connection without a response.
    public static let hangUp = Self(kind: .hangUp(reset: false))

    /// Resets the connection (TCP RST) without a response.
    public static let reset = Self(kind: .hangUp(reset: true))

    /// States the length of the whole body, sends only `byteCount` bytes of it, then closes the
    /// connection.
    public static func truncate(after byteCount: Int) -> Self {
        Self(kind: .truncate(after: max(0, byteCount)))
    }

    /// Waits until the gate is open, then responds as usual.
    public static func hold(_ gate: Gate) -> Self {
        Self(kind: .hold(gate))
    }

    /// Sends the head and `byteCount` bytes of the body, then waits until the gate is open before
    /// sending the rest.
    public static func holdBody(after byteCount: Int, _ gate: Gate) -> Self {
        Self(kind: .holdBody([(max(0, byteCount), gate)]))
    }

    /// Sends the body in steps of `byteCount` bytes. Each step except the first waits for its gate.
    /// After the last gate, the rest is sent.
    public static func holdBody(every byteCount: Int, _ gates: [Gate]) -> Self {
        // No body is longer than this limit, so the product with the number of gates cannot
        // overflow.
        let length = min(max(0, byteCount), Int(DeterministicBytes.maximumCount))
        let steps = gates.enumerated().map { (after: ($0.offset + 1) * length, gate: $0.element) }
        return Self(kind: .holdBody(steps))
    }

    /// Responds as usual, but replaces these fields; an empty value removes the field.
    ///
    /// The fields are set after conditional requests are evaluated, so a forced `ETag` is sent but
    /// not compared.
    public static func setFields(_ fields: [(name: String, value: String)]) -> Self {
        Self(kind: .setFields(Self.fields(fields)))
    }

    /// Responds with exactly this status, these fields and this body.
    public static func respond(
        status: Int = 200,
        fields: [(name: String, value: String)] = [],
        body: String
    ) -> Self {
        Self(kind: .respond(status: min(max(status, 200), 599), fields: Self.fields(fields), body: body))
    }

    private static func fields(_ pairs: [(name: String, value: String)]) -> [RecordedRequest.Field] {
        pairs.map { RecordedRequest.Field(name: $0.name, value: $0.value) }
    }
}
