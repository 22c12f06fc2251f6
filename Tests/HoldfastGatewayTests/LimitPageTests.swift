import Foundation
import HTTPCache
import HTTPCacheSemantics
import OfflineStore
import Testing

@testable import HoldfastGateway

@Suite("docs/limits.md")
struct LimitPageTests {
    /// docs/limits.md matches the code. `HOLDFAST_WRITE_DOCS=1` writes the page.
    @Test("The page matches the code") func page() throws {
        let path = #filePath.replacing("Tests/HoldfastGatewayTests/LimitPageTests.swift", with: "docs/limits.md")
        try expectFile(path, GatewayLimit.page)
    }

    @Test("Each stated default is the one in effect") func defaults() throws {
        let configuration = GatewayConfiguration(origin: try GatewayOrigin("http://a.example"))
        let transport = OriginTransport.Configuration()
        let store = CacheManager.Configuration()
        let options = EngineOptions()
        let counted: [String: Int] = [
            "connections": configuration.maximumConnections, "request line": configuration.messageLimits.startLine,
            "field lines": configuration.messageLimits.fieldBlock,
            "number of field lines": configuration.messageLimits.fieldCount,
            "chunk line": configuration.messageLimits.chunkLine,
            "chunk extensions": configuration.messageLimits.chunkExtensions,
            "trailers": configuration.messageLimits.trailers, "request content": Int(configuration.contentLimit),
            "members of a range": CachePolicy.maximumParts, "length of a range": CachePolicy.maximumRangeLength,
            "rate of content": Int(try #require(configuration.uploadRate)),
            "keyed content": configuration.keyedContentLimit,
            "unwanted content": configuration.discardedContentLimit, "requests at an origin": options.inFlightLimit,
            "requests waiting for an origin": options.waitingLimit,
            "content of unknown length without a client": Int(UnreadLimit.bytes),
            "interim responses": transport.messageLimits.interimResponses,
            "kept connections": transport.maximumIdleConnections, "variants": store.maximumVariantsPerKey,
            "memory": store.memoryBudget, "resident body": store.maximumResidentBody,
            "disk": Int(store.budget), "pending writes": store.maximumPendingBytes,
        ]
        for limit in GatewayLimit.all {
            guard let value = limit.value else { continue }
            #expect(counted[limit.name] == value, "\(limit.name)")
        }
        #expect(Set(GatewayLimit.all.compactMap { $0.value == nil ? nil : $0.name }) == Set(counted.keys))
    }
}

/// Compares a page with the text generated for it, or writes it if asked to.
func expectFile(_ path: String, _ content: String) throws {
    if ProcessInfo.processInfo.environment["HOLDFAST_WRITE_DOCS"] != nil {
        try Data(content.utf8).write(to: URL(fileURLWithPath: path))
    }
    #expect(try String(contentsOfFile: path, encoding: .utf8) == content, "HOLDFAST_WRITE_DOCS=1 writes it")
}
