import HTTPTypes
import NIOCore

@testable import GatewayRouting
@testable import HoldfastGateway

/// The URLs of origins in fields and in content, for a client.
///
/// The first line is the client's authority, the second one the number of its route. Fields follow
/// up to an empty line, and then the content.
func rewriting(_ bytes: UnsafeBufferPointer<UInt8>) {
    guard let map = RewritingSample.map else { return require(false, "the sample's routes are usable") }
    var input = FuzzInput(bytes)
    let authority = input.text()
    let route = Int(input.numbers()[0].magnitude % UInt64(map.routes.routes.count))
    let client = RewriteClient(map, route: route, scheme: "http", authority: authority)

    let fields = input.fields()
    var rewritten = fields
    var rewriter = FieldRewriter(for: client)
    rewriter.rewrite(&rewritten)
    require(rewritten.count == fields.count, "no field is added or lost")
    for (before, after) in zip(fields, rewritten) {
        require(before.name == after.name, "fields keep their order")
        if !ReferenceFields.contains(before.name.canonicalName) { require(before == after, "other fields stay") }
        require(before == after || rewriter.hasFound, "a field that changed names something of an origin's")
        let isWhole = after.withUnsafeBytesOfValue { $0.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 } }
        let wasWhole = before.withUnsafeBytesOfValue { $0.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 } }
        require(isWhole || !wasWhole, "no field is split")
    }

    let content = input.remaining()
    for type in ["text/html", "application/json"] {
        let whole = RewritingSample.rewrite(content, type, piece: max(content.count, 1), for: client)
        for size in [1, 2, 3, 7, 64] {
            let pieces = RewritingSample.rewrite(content, type, piece: size, for: client)
            require(pieces == whole, "pieces of \(size) change nothing")
        }
        require(
            content.count < 4 || whole.count <= content.count * (RewriteClient.authorityLimit + 32),
            "content grows with its URLs alone"
        )
    }
}

private enum RewritingSample {
    static let map: RewriteMap? = try? RewriteMap(
        GatewayRoutes([
            GatewayRoute(host: "index.local", origin: GatewayOrigin("https://index.example")),
            GatewayRoute(host: "files.local:8443", path: "/f", origin: GatewayOrigin("https://files.example")),
            GatewayRoute(host: "nested.local", origin: GatewayOrigin("https://files.example/deep/er")),
            GatewayRoute(path: "/v1", origin: GatewayOrigin("http://api.example:8080/api")),
            GatewayRoute(
                host: "kept.local",
                path: "/k",
                origin: GatewayOrigin("http://10.0.0.7/app"),
                preservesHost: true
            ),
            GatewayRoute(host: "*.label.local", origin: GatewayOrigin("https://[::1]/")),
        ])
    )

    static func rewrite(_ content: [UInt8], _ type: String, piece: Int, for client: RewriteClient) -> [UInt8] {
        var rewriter = BodyRewriter(for: client, contentType: type)
        var result: [UInt8] = []
        var rest = content[...]
        while !rest.isEmpty {
            result += rewriter.rewrite(ByteBuffer(bytes: rest.prefix(piece))).readableBytesView
            require(rewriter.heldCount <= URLReader.pathLimit + 400, "no more is held back than a longest URL")
            rest = rest.dropFirst(piece)
        }
        return result + rewriter.rewrite(ByteBuffer(), isLast: true).readableBytesView
    }
}
