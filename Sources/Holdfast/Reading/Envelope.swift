/// How an API wraps what it answers: `{"code": 0, "msg": "OK", "data": …}`.
public struct Envelope: Sendable, Hashable {
    /// Where the status of the answer stands.
    public var code: ValuePath
    /// Where the message stands; several places are tried in order.
    public var messages: [ValuePath]
    /// Where the model stands.
    public var model: ValuePath

    /// An envelope.
    public init(code: ValuePath = "code", messages: [ValuePath] = ["msg"], model: ValuePath = "data") {
        self.code = code
        self.messages = messages
        self.model = model
    }
}
