import HTTPCache
import Holdfast
import HoldfastTesting

// Prints the cache key of one request with many parameters. Their order differs in each process, so
// a test runs this program several times and compares the keys.

struct Probe: Endpoint {
    let baseURL = "https://a.example/v1"
    let path = "/search"
    let method = HTTPRequest.Method.post
    let task: HTTPTask
    let storage = CacheRequest.Storage.expiring(.never)
}

// A dictionary has a random order in each process.
let values = Dictionary(
    uniqueKeysWithValues: (0..<50).map {
        ("p\($0)", ParameterValue.object(["b": 1, "a": .object(["x": true, "w": .array([1, "2", nil])])]))
    }
)
let probe = Probe(task: .parameters(url: RequestParameters(values), body: RequestParameters(values)))
let request = try probe.request(defaults: RequestDefaults(parameters: ["api_key": "k", "locale": "en"]))
let engine = CacheEngine(
    store: InMemoryResponseStore(),
    transport: ScriptedTransport(),
    credentialSecret: [UInt8](repeating: 1, count: 32),
    logger: Logger(label: "key-probe")
)
print("key:", (engine.key(for: request)?.bytes ?? []).map { String($0, radix: 16) }.joined())
// Every other kind of content that is part of a key.
let others: [HTTPTask] = [
    .urlEncoded(RequestParameters(values)), .encodable(values),
    .encodable(values, encoder: FormContentEncoder(URLParameterEncoder(arrays: .indexed))),
    .graphQL(GraphQLOperation("query ($a: X) { a(a: $a) }", variables: RequestParameters(values))),
    .multipart([.text("x", name: "a")], parameters: RequestParameters(values)),
]
for task in others {
    let request = try Probe(task: task).request(defaults: RequestDefaults())
    print("key:", (engine.key(for: request)?.bytes ?? []).map { String($0, radix: 16) }.joined())
}
print("order:", values.keys.joined(separator: " "))
