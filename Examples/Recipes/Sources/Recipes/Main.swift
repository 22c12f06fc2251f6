import Foundation
import Holdfast
import OpenAPIRuntime
import ServiceLifecycle

/// Does what a generated client does: it builds requests, and gives them to its transport.
struct Reader: Service {
    let transport: any ClientTransport
    let origin: URL

    func run() async throws {
        let request = HTTPRequest(
            method: .get,
            scheme: nil,
            authority: nil,
            path: "/moments?userID=harbour&page=1"
        )
        let (response, body) = try await transport.send(request, body: nil, baseURL: origin, operationID: "moments")
        let content = try await Data(collecting: body ?? HTTPBody(), upTo: 1 << 20)
        print("\(response.status.code), \(content.count) bytes")
    }
}

@main struct Recipes {
    static func main() async throws {
        guard let origin = CommandLine.arguments.dropFirst().first.flatMap(URL.init(string:)) else {
            print("Name the origin, such as http://127.0.0.1:8081. 'sample-origin' is one.")
            exit(64)
        }
        let client = try await CachingClient.open(store: "recipes.store")
        let reader = Reader(transport: CachingClientTransport(client: client), origin: origin)
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [
                    .init(service: CachingClientService(client: client)),
                    .init(service: reader, successTerminationBehavior: .gracefullyShutdownGroup),
                ],
                gracefulShutdownSignals: [.sigint, .sigterm],
                logger: Logger(label: "recipes")
            )
        )
        try await group.run()
        print("closed")
    }
}
