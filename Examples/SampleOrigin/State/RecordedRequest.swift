/// A request as an origin received it.
public struct RecordedRequest: Sendable {
    /// The request's number, from 1: the `X-Origin-Request` of the response.
    public let number: Int
    /// The method, as received.
    public let method: String
    /// The request target, byte for byte as received: a path such as `/a%2Fb?x=1|2`, an absolute
    /// URI, or `*`.
    public let target: String
    /// The path of the target, still percent-encoded, without the query.
    public let path: String
    /// The fields, including `Host`, in the order and spelling in which they were received.
    public let fields: [Field]

    /// A field line.
    public struct Field: Sendable, Hashable {
        /// The name, spelled as received.
        public let name: String
        /// The value, without surrounding whitespace.
        public let value: String
    }

    init(number: Int, path: String, head: RawRequestHead) {
        self.number = number
        self.method = head.method
        self.target = head.target
        self.path = path
        self.fields = head.fields
    }

    /// Returns the values of a field, in order. Field names are not case-sensitive.
    public func values(of name: String) -> [String] {
        let wanted = name.lowercased()
        return fields.filter { $0.name.lowercased() == wanted }.map(\.value)
    }

    /// The value of a field, with several lines joined by `, `; `nil` if the field is absent.
    public subscript(name: String) -> String? {
        let values = values(of: name)
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }
}
