import NIOHTTP1

/// A request head as parsed, before the framework changes it.
///
/// The framework's codec turns absolute-form targets into paths, removes `Host` from the fields and
/// splits `Cookie`. Tests of sent requests need the original.
struct RawRequestHead: Sendable {
    let method: String
    let target: String
    let fields: [RecordedRequest.Field]

    init(_ head: HTTPRequestHead) {
        self.method = head.method.rawValue
        self.target = head.uri
        self.fields = head.headers.map { RecordedRequest.Field(name: $0.name, value: $0.value) }
    }

    init(method: String, target: String) {
        self.method = method
        self.target = target
        self.fields = []
    }
}
