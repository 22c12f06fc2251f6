import Foundation
import Testing

/// A recorded input of a fuzzer: a file in `Fuzz/Corpus` or `Fuzz/Findings`, in the folder of its
/// target.
struct RecordedInput: Sendable, CustomTestStringConvertible {
    /// Inputs that were written by hand, or are worth keeping because they reach far.
    static let corpus = "Corpus"
    /// Inputs that once broke a claim.
    static let findings = "Findings"

    var target: String
    /// The path below `Fuzz`.
    var path: String

    var testDescription: String { path }

    func bytes() throws -> [UInt8] { try Array(Data(contentsOf: Self.root.appending(path: path))) }

    /// All recorded inputs in the order of their names, so that each run is the same.
    static func all() throws -> [RecordedInput] {
        try [corpus, findings].flatMap { kind in
            try names(kind).flatMap { target in
                try names("\(kind)/\(target)").map { RecordedInput(target: target, path: "\(kind)/\(target)/\($0)") }
            }
        }
    }

    /// The names in a folder of `Fuzz`; none if there is no such folder.
    static func names(_ folder: String) throws -> [String] {
        let path = root.appending(path: folder).path
        guard FileManager.default.fileExists(atPath: path) else { return [] }
        return try FileManager.default.contentsOfDirectory(atPath: path).filter { !$0.hasPrefix(".") }.sorted()
    }

    private static let root = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Fuzz")
}
