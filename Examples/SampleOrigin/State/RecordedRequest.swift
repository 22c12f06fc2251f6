/// One request as an origin received it.
public struct RecordedRequest: Sendable {
    /// Its number, from 1: the `X-Origin-Request` of the response.
    public let number: Int
    /// The method, as received.
    public let method: String
    /// The request target, byte for byte as received: `/a%2Fb?x=1|2`, or an absolute URI, or `*`.
    public let target: String
    /// The path of the target, still percent-encoded, without the query.
    public let path: String
    /// The fields, in the order and spelling in which they were received, `Host` included.
    public let fields: [Field]

    /// A field line.
    public struct Field: Sendable, Hashable {
        /// The name, spelled as received.
        public let name: String
        /// The value, without surrounding white space.
        public let value: String
    }

    init(number: Int, path: String, head: RawRequestHead) {
        self.number = number
        self.method = head.method
        self.target = head.target
        self.path = path
        self.fields = head.fields
    }

    /// The values of a field, in order; names are compared without regard to case.
    public func values(of name: String) -> [String] {
        let wanted = name.lowercased()
        return fields.filter { $0.name.lowercased() == wanted }.map(\.value)
    }

    /// The value of a field, several lines joined by `, `; `nil` when there is none.
    public subscript(name: String) -> String? {
        let values = values(of: name)
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }
}
