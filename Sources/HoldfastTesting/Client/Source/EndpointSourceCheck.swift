import Foundation
import Holdfast

/// Finds endpoint properties in source text that compile but are ignored.
///
/// Every requirement of `Endpoint` except its path has a default. A property with a wrong type or
/// name is therefore ignored, and the compiler does not report it. A client logs such stored
/// properties, and ``withTestClient(_:logger:_:)`` fails. Computed properties and enums can be
/// checked only in source text:
///
/// ```swift
/// let findings = try EndpointSourceCheck(folder: "Sources/App").findings
/// precondition(findings.isEmpty, "\(findings)")
/// ```
///
/// The check reads text without a compiler:
///
/// - A type conforms if the type, an extension, or a protocol in the folder declares the
///   conformance.
/// - Type aliases are resolved if the folder declares them.
/// - A property without a stated type is checked only if its initial value is a literal or calls an
///   initializer.
/// - A property with a similar name is reported only if its type matches the requirement's type, or
///   if the names differ only in case, and only if the endpoint does not declare that requirement.
public struct EndpointSourceCheck: Sendable {
    /// An ignored property.
    public struct Finding: Sendable, Hashable, CustomStringConvertible {
        /// The file's path relative to the folder.
        public var file: String
        /// The line number, starting at 1.
        public var line: Int
        /// The endpoint's type.
        public var endpoint: String
        /// The property's name.
        public var property: String
        /// The reason that the property is ignored, and the correction.
        public var explanation: String

        /// The finding as one line, such as `Feed.swift:7: GetFeed: 'timeout' is ignored, …`.
        public var description: String { "\(file):\(line): \(endpoint): \(explanation)" }
    }

    /// The findings, sorted by file and line.
    public let findings: [Finding]
    /// The types that conform to `Endpoint`. If there are none, the folder is probably wrong.
    public let endpoints: [String]

    /// Checks all Swift files in a folder and its subfolders, except hidden files and folders.
    ///
    /// - Throws: an error from `FileManager` if the folder or a file cannot be read.
    public init(folder: String) throws {
        let root = URL(filePath: folder, directoryHint: .isDirectory)
        let names = try FileManager.default.subpathsOfDirectory(atPath: root.path)
            .filter { $0.hasSuffix(".swift") && !$0.split(separator: "/").contains { $0.hasPrefix(".") } }
        var sources: [String: String] = [:]
        for name in names { sources[name] = try String(contentsOf: root.appending(path: name), encoding: .utf8) }
        self.init(sources: sources)
    }

    /// Checks source texts, keyed by file name.
    public init(sources: [String: String]) {
        let types = EndpointTypes(sources.sorted { $0.key < $1.key }.map { SwiftDeclarations($0.value, file: $0.key) })
        findings = types.findings.sorted { ($0.file, $0.line) < ($1.file, $1.line) }
        endpoints = types.names
    }
}
