import Foundation
import Holdfast
import ServiceLifecycle
import UnixSignals

#if OpenAPI
    import OpenAPIRuntime
#endif

/// Reads from an origin once. Stands for the services that use the client.
struct Reader: Service {
    let client: CachingClient
    let origin: URL

    func run() async throws {
        let moments = try await client.fetch(AdHocRequest<Data>("\(origin)/moments", query: ["userID": "harbour"]))
        print(moments.source, moments.value.count, "bytes")
        #if OpenAPI
            // Generated code makes such calls.
            let transport: any ClientTransport = CachingClientTransport(client: client)
            let request = HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/moments?userID=harbour")
            let (response, body) = try await transport.send(request, body: nil, baseURL: origin, operationID: "moments")
            let content = try await Data(collecting: body ?? HTTPBody(), upTo: 1 << 20)
            print("OpenAPI", response.status.code, content.count, "bytes")
        #endif
    }
}

@main struct Recipes {
    static func main() async throws {
        guard let origin = CommandLine.arguments.dropFirst().first.flatMap(URL.init(string:)) else {
            print("Name the origin, such as http://127.0.0.1:8081. 'sample-origin' is one.")
            exit(64)
        }
        let client = try await CachingClient.open(store: "recipes.store")
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [
                    .init(service: CachingClientService(client: client)),
                    .init(
                        service: Reader(client: client, origin: origin),
                        successTerminationBehavior: .gracefullyShutdownGroup
                    ),
                ],
                gracefulShutdownSignals: [.sigint, .sigterm],
                logger: Logger(label: "recipes")
            )
        )
        try await group.run()
        print("closed")
    }
}
