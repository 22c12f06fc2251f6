import Foundation
import Holdfast

/// Finds properties of endpoints that compile and are ignored, in source text.
///
/// Every requirement of `Endpoint` except its path has a default, so a property with a wrong type
/// or name is ignored without a word from the compiler. A client logs such stored properties, and
/// ``withTestClient(_:logger:_:)`` fails. Computed properties and enums can be seen only in source
/// text:
///
/// ```swift
/// let findings = try EndpointSourceCheck(folder: "Sources/App").findings
/// precondition(findings.isEmpty, "\(findings)")
/// ```
///
/// The check reads text, and has no compiler:
///
/// * A type conforms if it, an extension, or a protocol of the folder says so.
/// * Type aliases are known if the folder declares them.
/// * A property without a stated type is checked only if its initial value is a literal or calls an
///   initializer.
/// * A property with another name is reported only if its type suits the requirement, and the
///   endpoint does not declare that requirement.
public struct EndpointSourceCheck: Sendable {
    /// A property that is ignored.
    public struct Finding: Sendable, Hashable, CustomStringConvertible {
        /// The file, below the folder.
        public var file: String
        /// The line, from 1.
        public var line: Int
        /// The endpoint's type.
        public var endpoint: String
        /// The property's name.
        public var property: String
        /// Why it is ignored, and what to write instead.
        public var explanation: String

        /// The finding as one line: `Feed.swift:7: GetFeed: 'timeout' is ignored, …`.
        public var description: String { "\(file):\(line): \(endpoint): \(explanation)" }
    }

    /// The findings, by file and line.
    public let findings: [Finding]
    /// The types that conform to `Endpoint`. If there are none, the folder is probably the wrong
    /// one.
    public let endpoints: [String]

    /// Checks all Swift files in a folder and the folders below it, except hidden ones.
    ///
    /// - Throws: the error of `FileManager` if the folder or a file cannot be read.
    public init(folder: String) throws {
        let root = URL(filePath: folder, directoryHint: .isDirectory)
        let names = try FileManager.default.subpathsOfDirectory(atPath: root.path)
            .filter { $0.hasSuffix(".swift") && !$0.split(separator: "/").contains { $0.hasPrefix(".") } }
        var sources: [String: String] = [:]
        for name in names { sources[name] = try String(contentsOf: root.appending(path: name), encoding: .utf8) }
        self.init(sources: sources)
    }

    /// Checks sources by their files' names.
    public init(sources: [String: String]) {
        let types = EndpointTypes(sources.sorted { $0.key < $1.key }.map { SwiftDeclarations($0.value, file: $0.key) })
        findings = types.findings.sorted { ($0.file, $0.line) < ($1.file, $1.line) }
        endpoints = types.names
    }
}
