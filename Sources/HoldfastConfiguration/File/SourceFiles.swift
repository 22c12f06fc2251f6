import CacheRules
import Foundation
import HTTPCacheSemantics
import LibC
import LocalFiles

/// The files of a configuration: the main file and the files that `include` names, in the order in
/// which they are read. A file comes before the files that it includes.
///
/// All paths are relative to the folder of the main file, and no file is outside that folder. A
/// file is read only once, so there are no cycles.
struct SourceFiles {
    /// A file.
    struct Source {
        /// The path for messages; `nil` for a text without a file.
        let path: String?
        let document: FileValue
    }

    /// The name of the setting.
    static let key = "include"
    /// The maximum number of files, including the main file.
    static let maximumCount = 100
    /// The maximum number of files that include each other in a chain, without the main file.
    static let maximumDepth = 8
    /// The maximum length of all files, in bytes.
    static let maximumLength = Document.maximumLength

    private(set) var sources: [Source] = []
    private(set) var findings: [ConfigurationError.Finding] = []
    /// The folder of the main file, with a slash at the end; empty for the current folder.
    private let folder: String
    private var length: Int
    private var document = Document()
    /// Where each file is included, by its path without symbolic links.
    private var places: [String: (file: String?, line: Int)] = [:]
    /// The path of the main file without symbolic links.
    private let main: String?

    /// Reads a configuration.
    ///
    /// - Parameters:
    ///   - text: the text of the main file.
    ///   - path: the path of the main file. A text without a file cannot include files.
    init(_ text: String, path: String?) {
        folder = path.flatMap { path in path.lastIndex(of: "/").map { String(path[...$0]) } } ?? ""
        length = text.utf8.count
        main = path.flatMap(Self.realPath)
        if let main { places[main] = (file: path, line: 1) }
        read(text, path, depth: 0)
    }

    private mutating func read(_ text: String, _ path: String?, depth: Int) {
        let value: FileValue
        do throws(Refusal) {
            value = try document.read(text) ?? .mapping([], line: 1)
        } catch {
            findings.append(.init(file: path, line: error.line, message: error.message))
            return
        }
        sources.append(Source(path: path, document: value))
        guard case .mapping(let entries, _) = value,
            let entry = entries.first(where: { $0.key == Self.key })
        else { return }
        do throws(Refusal) {
            guard path != nil else { throw Refusal("A configuration without a file cannot include files.") }
            guard depth < Self.maximumDepth else {
                throw Refusal("Files include each other more than \(Self.maximumDepth) levels deep.")
            }
            for item in try entry.value.list(of: "files such as 'conf.d/*.yaml'") {
                try include(item, from: path, depth: depth + 1)
            }
        } catch {
            findings.append(
                .init(file: path, line: error.line ?? entry.line, setting: Self.key, message: error.message)
            )
        }
    }

    private mutating func include(_ item: FileValue, from including: String?, depth: Int) throws(Refusal) {
        let text = try item.text("a file such as 'conf.d/*.yaml'")
        do throws(Refusal) {
            for name in try names(text) { try include(name, from: including, line: item.line, depth: depth) }
        } catch {
            throw Refusal(error.message, line: error.line ?? item.line)
        }
    }

    private mutating func include(_ name: String, from including: String?, line: Int, depth: Int) throws(Refusal) {
        let path = folder + name
        guard let real = Self.realPath(path) else {
            let code = errno
            throw Refusal("The file \(shown(name)) \(Self.fault(code))")
        }
        guard let root = Self.realPath(folder.isEmpty ? "." : folder), real.hasPrefix(root == "/" ? root : root + "/")
        else {
            throw Refusal(
                "\(shown(name)) leads to a file outside the folder of the configuration. Move the file there."
            )
        }
        guard real != main else { throw Refusal("\(shown(name)) is the main file. Include other files only.") }
        if let other = places[real] {
            let place = Place(other.file, other.line, from: including)
            throw Refusal("\(shown(name)) is already included \(place.after). Include each file once.")
        }
        guard places.count < Self.maximumCount else {
            throw Refusal("There are too many files. The limit is \(Self.maximumCount), including the main file.")
        }
        var isFolder: ObjCBool = false
        if FileManager.default.fileExists(atPath: real, isDirectory: &isFolder), isFolder.boolValue {
            throw Refusal("\(shown(name)) is a folder. For its files, write \(shown("\(name)/*.yaml")).")
        }
        places[real] = (file: including, line: line)
        let bytes: [UInt8]
        do throws(LocalFile.Refusal) {
            bytes = try LocalFile.read(real, limit: Self.maximumLength)
        } catch {
            throw Refusal("The file \(shown(name)) \(error.message)")
        }
        length += bytes.count
        guard length <= Self.maximumLength else {
            throw Refusal("All files together have more than \(Self.maximumLength) bytes, which is the limit.")
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw Refusal("The file \(shown(name)) is not UTF-8.")
        }
        read(text, path, depth: depth)
    }

    /// Returns the names of the files that a path with a star matches, in the order of their bytes,
    /// or the path itself. Hidden files do not match a star.
    private func names(_ text: String) throws(Refusal) -> [String] {
        guard !Expansion.isAffected(text) else {
            throw Refusal("Variables are not expanded in '\(Self.key)'. Write the path of the file.")
        }
        let components = text.split(separator: "/", omittingEmptySubsequences: false)
        guard components.allSatisfy({ !$0.isEmpty && $0 != "." && $0 != ".." }), !text.utf8.contains(0) else {
            throw Refusal(
                "\(shown(text)) is not a path within the folder of the main file, such as 'conf.d/shop.yaml'. '.', '..' and absolute paths are not allowed."
            )
        }
        guard text.contains("*") else { return [text] }
        let name = components[components.count - 1]
        let parent = components.dropLast().joined(separator: "/")
        guard !parent.contains("*") else {
            throw Refusal(
                "\(shown(text)) has a star in the name of a folder. Stars are allowed only in names of files."
            )
        }
        let glob = Glob(name.utf8, separator: nil)
        let found: [String]
        do {
            found = try FileManager.default.contentsOfDirectory(atPath: folder + (parent.isEmpty ? "." : parent))
        } catch {
            throw Refusal("The folder of \(shown(text)) does not exist, or cannot be read.")
        }
        let matching = found.filter { $0.utf8.first != UInt8(ascii: ".") && glob.matches(Array($0.utf8)) }
        guard !matching.isEmpty else {
            throw Refusal("\(shown(text)) matches no file. Add a file, correct the name, or remove it.")
        }
        return matching.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
            .map { parent.isEmpty ? $0 : "\(parent)/\($0)" }
    }

    private static func fault(_ code: CInt) -> String {
        code == ENOENT ? "does not exist." : "cannot be opened: \(String(cString: strerror(code)))."
    }

    /// Returns a path without symbolic links; `nil` if there is no such file.
    private static func realPath(_ path: String) -> String? {
        guard let real = realpath(path, nil) else { return nil }
        defer { free(real) }
        return String(cString: real)
    }
}

extension Configuration {
    /// The maximum number of files of a configuration, including the main file.
    package static var fileLimit: Int { SourceFiles.maximumCount }
    /// The maximum number of files that include each other in a chain, without the main file.
    package static var includeDepthLimit: Int { SourceFiles.maximumDepth }
    /// The maximum length of all files of a configuration, in bytes.
    package static var lengthLimit: Int { SourceFiles.maximumLength }
    /// The maximum length of all values with expanded variables, in bytes.
    package static var expandedLengthLimit: Int { Expansion.maximumLength }
}
