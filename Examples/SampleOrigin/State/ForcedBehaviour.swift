/// An origin's behaviour towards a request, instead of the usual response or on top of it.
///
/// ```swift
/// origin.force(.status(503), times: 3)                  // the next three requests
/// origin.force(.hangUp, times: .max, path: "/moments")  // all requests for /moments
/// origin.force(.truncate(after: 100), path: "/moments") // the next one
/// ```
public struct ForcedBehaviour: Sendable {
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

    /// Respond with this status (400…599) and a JSON body that describes it.
    public static func status(_ code: Int, fields: [(name: String, value: String)] = []) -> Self {
        Self(kind: .status(min(max(code, 400), 599), fields: Self.fields(fields)))
    }

    /// Close the connection without a response.
    public static let hangUp = Self(kind: .hangUp(reset: false))

    /// Reset the connection (TCP RST) without a response.
    public static let reset = Self(kind: .hangUp(reset: true))

    /// Announce the whole body, send this many bytes of it, then close the connection.
    public static func truncate(after byteCount: Int) -> Self {
        Self(kind: .truncate(after: max(0, byteCount)))
    }

    /// Respond as usual, but not before the gate is open.
    public static func hold(_ gate: Gate) -> Self {
        Self(kind: .hold(gate))
    }

    /// Send the head and this many bytes of the body, and the rest when the gate is open.
    public static func holdBody(after byteCount: Int, _ gate: Gate) -> Self {
        Self(kind: .holdBody([(max(0, byteCount), gate)]))
    }

    /// Send the body in steps of this many bytes. A gate must open before each step but the first;
    /// the rest follows the last gate.
    public static func holdBody(every byteCount: Int, _ gates: [Gate]) -> Self {
        // No body is longer, and the product with the number of gates cannot overflow.
        let length = min(max(0, byteCount), Int(DeterministicBytes.maximumCount))
        let steps = gates.enumerated().map { (after: ($0.offset + 1) * length, gate: $0.element) }
        return Self(kind: .holdBody(steps))
    }

    /// Respond as usual, with these fields replaced; an empty value removes the field.
    ///
    /// They are set after conditional requests are evaluated, so a forced `ETag` is sent but not
    /// compared.
    public static func setFields(_ fields: [(name: String, value: String)]) -> Self {
        Self(kind: .setFields(Self.fields(fields)))
    }

    /// Respond with exactly this.
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
