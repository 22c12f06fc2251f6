import Foundation
import Testing

/// One case of `Tests/Fixtures/conformance`: requests, the origin's responses, and the
/// expectations. The format is described in `Tests/Fixtures/conformance/README.md`.
struct ConformanceCase: Decodable, Sendable, CustomTestStringConvertible {
    /// The significance of a failure.
    enum Strength: String, Decodable, Sendable {
        /// The RFC demands it.
        case required
        /// A cache that is worth having does it.
        case optimal
        /// Both results conform.
        case check
    }

    /// Where the case can run.
    enum Door: String, Decodable, Sendable {
        /// At the engine as well as over a connection.
        case any
        /// Only over a connection: the claim is about framing, interim responses or bytes.
        case wire
    }

    var id: String
    var claim: String
    var rfc: String
    var strength: Strength
    var door: Door
    /// The known reason why it fails today.
    var open: String?
    var steps: [ConformanceStep]

    var testDescription: String { "\(id) (\(strength.rawValue))" }

    private enum Key: String, CodingKey { case id, claim, rfc, strength, door, open, steps }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        id = try container.decode(String.self, forKey: .id)
        claim = try container.decode(String.self, forKey: .claim)
        rfc = try container.decodeIfPresent(String.self, forKey: .rfc) ?? ""
        strength = try container.decode(Strength.self, forKey: .strength)
        door = try container.decodeIfPresent(Door.self, forKey: .door) ?? .any
        open = try container.decodeIfPresent(String.self, forKey: .open)
        steps = try container.decode([ConformanceStep].self, forKey: .steps)
    }
}

/// One file of the table.
struct ConformanceTable: Decodable, Sendable {
    var subject: String
    var rfc: String
    var cases: [ConformanceCase]

    /// Every case, its id prefixed with the name of its file.
    static func load() throws -> [ConformanceCase] {
        let folder = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent()
            .deletingLastPathComponent()
            .appendingPathComponent("Fixtures/conformance", isDirectory: true)
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        return try files.filter { $0.pathExtension == "json" }
            .sorted { $0.lastPathComponent < $1.lastPathComponent }
            .flatMap { file in
                let table = try JSONDecoder().decode(ConformanceTable.self, from: Data(contentsOf: file))
                return table.cases.map { entry in
                    var entry = entry
                    entry.id = file.deletingPathExtension().lastPathComponent + "/" + entry.id
                    if entry.rfc.isEmpty { entry.rfc = table.rfc }
                    return entry
                }
            }
    }
}
