import HTTPCache
import HTTPTypes
import HoldfastTesting
import NIOCore

// Shared by the suites in 'Attacks'.

extension EngineFixture {
    /// The content of each stored response.
    func storedTexts() async throws -> [String] {
        var result: [String] = []
        for response in memory.all {
            let body = try await memory.openBody(of: response)
            result.append(String(buffer: try await body?.collect(upTo: 1 << 20) ?? ByteBuffer()))
        }
        return result
    }
}

extension CacheResponse {
    /// Reads the whole content.
    func wholeText() async throws -> String { String(buffer: try await body.collect(upTo: 1 << 20)) }
}

extension ScriptedTransport.Reply {
    /// A part that is fresh for a minute.
    static func part(_ text: String, _ range: String, _ more: HTTPFields = [:]) -> Self {
        var fields: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"1\"", .contentRange: range]
        fields.append(contentsOf: more)
        return .status(.partialContent, text, fields: fields)
    }
}
