import Foundation
import HTTPCache
import TestSupport
import Testing

@testable import CacheRules
@testable import HoldfastConfiguration

/// Configurations of several files: their order, places in messages, folders and limits.
@Suite(.timeLimit(.minutes(20))) struct IncludeTests {
    /// A folder with files that is removed when the test ends.
    private final class Folder {
        private let folder: TemporaryFolder
        var path: String { folder.path }
        var main: String { path + "/main.yaml" }

        init(_ files: [String: String] = [:]) throws {
            folder = try TemporaryFolder()
            for (name, text) in files { try write(name, text) }
        }

        func write(_ name: String, _ text: String) throws {
            let file = URL(fileURLWithPath: "\(path)/\(name)")
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(),
                withIntermediateDirectories: true
            )
            try Data(("version: 1\n" + text).utf8).write(to: file)
        }

        func link(_ name: String, to target: String) throws {
            try FileManager.default.createSymbolicLink(atPath: "\(path)/\(name)", withDestinationPath: target)
        }

        func read(_ environment: [String: String] = [:]) throws -> Configuration {
            try Configuration(contentsOf: main, environment: environment)
        }

        /// The findings, without the path of the folder.
        func findings(_ environment: [String: String] = [:]) -> [String] {
            do {
                _ = try read(environment)
                return []
            } catch {
                return "\(error)".replacingOccurrences(of: path + "/", with: "").split(separator: "\n").map(String.init)
            }
        }
    }

    private static func route(_ name: String) -> String {
        "  - {name: \(name), host: \(name), origin: \"https://\(name).test\"}"
    }
    private static func rule(_ name: String) -> String {
        "  - {name: \(name), match: {url: /\(name)}, tags: [\(name)]}"
    }

    @Test func routesAndRulesAreAppendedInOrder() throws {
        let folder = try Folder([
            "main.yaml": """
            include: [conf.d/*.yaml, last.yaml]
            store: {budget: 2 GiB}
            routes:
            \(Self.route("m"))
            rules:
            \(Self.rule("m"))
            """,
            "conf.d/b.yaml": "routes:\n\(Self.route("b"))\nrules:\n\(Self.rule("b"))",
            "conf.d/a.yaml": "include: nested/n.yaml\nroutes:\n\(Self.route("a"))\nrules:\n\(Self.rule("a"))",
            "conf.d/B.yaml": "routes:\n\(Self.route("capital"))",
            "conf.d/ignored.yml": "threads: nonsense", "conf.d/.hidden.yaml": "threads: nonsense",
            "nested/n.yaml": "routes:\n\(Self.route("n"))\nrules:\n\(Self.rule("n"))\nthreads: 3",
            "last.yaml": "routes:\n\(Self.route("l"))\nmode: offline",
        ])
        let configuration = try folder.read()
        #expect(configuration.routes.map(\.name) == ["m", "capital", "a", "n", "b", "l"])
        #expect(configuration.rules.rules.map(\.name) == ["m", "a", "n", "b"])
        #expect(configuration.threads == 3 && configuration.mode == .offline && configuration.store.budget == 2 << 30)
        #expect(configuration.file == folder.main)
        let effective = configuration.effective
        let settings = Dictionary(effective.settings.map { ($0.name, $0) }) { $1 }
        #expect(settings["threads"]?.file == folder.path + "/nested/n.yaml" && settings["threads"]?.line == 6)
        #expect(settings["store.budget"]?.file == nil && settings["store.budget"]?.line == 3)
        let names = ["", "conf.d/B.yaml", "conf.d/a.yaml", "nested/n.yaml", "conf.d/b.yaml", "last.yaml"]
        #expect(effective.routes.map { $0.file ?? "\(folder.path)/" } == names.map { "\(folder.path)/\($0)" })
        #expect(effective.rules.map(\.line) == [7, 6, 5, 5])
        let line = "\(effective)".split(separator: "\n").first { $0.hasPrefix("  threads ") }
        #expect(line?.hasSuffix(" 3  (\(folder.path)/nested/n.yaml:6)") == true, "\(effective)")
    }

    /// Routes with `respond` keep their places among the others, and pages are in the main file's
    /// folder.
    @Test func fixedRoutesAndPagesOfIncludedFiles() throws {
        let folder = try Folder([
            "main.yaml": "include: conf.d/*.yaml\nroutes:\n\(Self.route("m"))",
            "conf.d/a.yaml": """
            routes:
              - {name: gone, host: a, respond: {status: 410}}
              - {name: a, host: a.test, origin: "https://a.test", error-pages: {offline: conf.d/a.html}}
            """,
            "conf.d/b.yaml": "routes:\n  - {name: last, respond: {status: 404}}", "conf.d/a.html": "",
        ])
        let configuration = try folder.read()
        #expect(configuration.fixedRoutes.map(\.position) == [1, 2])
        #expect(configuration.routes.last?.errorPages.offline?.template.start.isEmpty == false)
        let routes = configuration.effective.routes
        #expect(routes.map(\.name) == ["m", "gone", "a", "last"])
        let files = routes.map { ($0.file ?? folder.main).dropFirst(folder.path.count + 1) }
        #expect(files == ["main.yaml", "conf.d/a.yaml", "conf.d/a.yaml", "conf.d/b.yaml"])
        try folder.write("conf.d/b.yaml", "routes:\n  - {host: m, respond: {status: 404}}")
        try FileManager.default.removeItem(atPath: folder.path + "/conf.d/a.html")
        #expect(
            folder.findings() == [
                "conf.d/a.yaml:4: route 'a': error-pages.offline: The file 'conf.d/a.html' cannot be opened: No such file or directory.",
                "conf.d/b.yaml:3: route 4: No request can reach it: route 'm' (main.yaml:4) comes first and matches all of its requests. Move it up, or remove it.",
            ]
        )
    }

    @Test func aReadAgainSeesNewAndRemovedFiles() throws {
        let folder = try Folder(["main.yaml": "include: conf.d/*.yaml", "conf.d/a.yaml": "threads: 3"])
        #expect(try folder.read().threads == 3)
        try folder.write("conf.d/a.yaml", "threads: 4")
        try folder.write("conf.d/b.yaml", "mode: offline")
        #expect(try folder.read().threads == 4 && folder.read().mode == .offline)
        try FileManager.default.removeItem(atPath: folder.path + "/conf.d/a.yaml")
        #expect(try folder.read().threads == nil)
        try FileManager.default.removeItem(atPath: folder.path + "/conf.d/b.yaml")
        let none = "main.yaml:2: include: 'conf.d/*.yaml' matches no file. Add a file, correct the name, or remove it."
        #expect(folder.findings() == [none])
    }

    @Test(arguments: [
        (
            "store: {budget: 1 GiB}", "store.budget: 2 GiB",
            "a.yaml:2: store.budget: It is already set at main.yaml:3. Remove one of them."
        ),
        ("mode: offline", "mode: offline", "a.yaml:2: mode: It is already set at main.yaml:3. Remove one of them."),
        (
            "origins: {\"https://m.test\": {verify: true}}", "origins: {\"HTTPS://m.test:443\": {verify: true}}",
            "a.yaml:2: origins: 'https://m.test' is listed twice (main.yaml:3). Remove one of them."
        ),
        (
            "routes:\n\(route("m"))", "routes:\n\(route("m"))",
            "a.yaml:3: route 'm': name: Another route at main.yaml:4 has this name. Rename one of them."
        ),
        (
            "routes:\n\(route("m"))", "routes:\n  - {host: m, path: /x, origin: \"https://x.test\"}",
            "a.yaml:3: route 2: No request can reach it: route 'm' (main.yaml:4) comes first and matches all of its requests. Move it up, or remove it."
        ),
        (
            "rules:\n\(rule("m"))", "rules:\n\(rule("m"))",
            "a.yaml:3: rule 'm': name: Another rule at main.yaml:4 has this name. Names must be unique."
        ),
        (
            "rules:\n\(rule("m"))", "rules:\n  - {match: {url: /m}, tags: [x]}",
            "a.yaml:3: rule 2: It can never take effect: rule 'm' (main.yaml:4) comes first, matches all of its requests, and decides all of its settings. Move it up, or remove it."
        ),
        (
            "timeouts: {hard: 1 s}", "timeouts: {soft: 2 s}",
            "a.yaml:2: timeouts.soft: It is not less than 'timeouts.hard' (main.yaml:3), so it has no effect. Lower it."
        ),
        ("", "threads: none", "a.yaml:2: threads: Expected a whole number from 1 to 1024, not 'none'."),
        (
            "", "threads: ${N}",
            "a.yaml:2: threads: The environment has no variable 'N'. Set it, or write '$${N}' for the text '${N}'."
        ),
        (
            "", "rules:\n  - {freshness: {lifetime: x}}",
            "a.yaml:3: rule 1: freshness.lifetime: 'x' is not a number with a unit"
        ),
        ("", "routes:\n  - {path: /x}", "a.yaml:3: route 1: origin: It is missing."),
    ])
    func findingNamesTheFilesAndLines(_ main: String, _ other: String, _ finding: String) throws {
        let folder = try Folder(["main.yaml": "include: [a.yaml]\n" + main, "a.yaml": other])
        let found = folder.findings()
        #expect(found.contains { $0.hasPrefix(finding) }, "\(found)")
    }

    @Test func findingsAreInTheOrderOfTheFiles() throws {
        let folder = try Folder([
            "main.yaml": "include: [z.yaml, a.yaml]\n\n\nthreads: 0", "z.yaml": "\nmode: x", "a.yaml": "drain: 1",
        ])
        #expect(
            folder.findings().map { String($0.prefix { $0 != " " }) } == ["main.yaml:5:", "z.yaml:3:", "a.yaml:2:"]
        )
    }

    @Test func eachFileNeedsItsVersion() throws {
        let folder = try Folder(["main.yaml": "include: [a.yaml, b.yaml]", "b.yaml": "threads: 0"])
        try Data("threads: 3".utf8).write(to: URL(fileURLWithPath: folder.path + "/a.yaml"))
        let found = folder.findings()
        #expect(found.first == "a.yaml:1: version: It is missing. Write 'version: 1' on the first line.")
        #expect(found.count == 2 && found.last?.hasPrefix("b.yaml:2: threads") == true, "\(found)")
    }

    // MARK: Folders

    @Test(arguments: [
        ("/etc/passwd", "is not a path within the folder"), ("../a.yaml", "is not a path within the folder"),
        ("conf.d/../../a.yaml", "is not a path within the folder"), ("./a.yaml", "is not a path within the folder"),
        ("a//b.yaml", "is not a path within the folder"), ("conf.d/", "is not a path within the folder"),
        ("..", "is not a path within the folder"), ("'*/a.yaml'", "has a star in the name of a folder"),
        ("none.yaml", "The file 'none.yaml' does not exist."), ("none/*.yaml", "does not exist, or cannot be read"),
        ("folder", "'folder' is a folder. For its files, write 'folder/*.yaml'."),
        ("out.yaml", "leads to a file outside the folder"),
        ("out/a.yaml", "leads to a file outside the folder"), ("out/*.yaml", "leads to a file outside the folder"),
        ("dangling.yaml", "The file 'dangling.yaml' does not exist."), ("main.yaml", "is the main file"),
        ("'*.yaml'", "leads to a file outside the folder"), ("loop.yaml", "cannot be opened"),
        ("'${A}.yaml'", "Variables are not expanded in 'include'"), ("bytes.yaml", "is not UTF-8"),
        ("fifo", "is not a file."), ("{a: b}", "Expected files such as 'conf.d/*.yaml'"), ("[]", "The list is empty."),
        ("''", "Expected files such as"), ("[a.yaml, a.yaml]", "'a.yaml' is already included on line 2."),
        ("[a.yaml, same.yaml]", "'same.yaml' is already included on line 2."),
    ])
    func fileOutsideTheFolderOrWithoutContentIsRejected(_ include: String, _ message: String) throws {
        let outside = try Folder(["a.yaml": "threads: 3"])
        let folder = try Folder(["main.yaml": "include: \(include)", "folder/x.yaml": "", "a.yaml": ""])
        try folder.link("out.yaml", to: outside.path + "/a.yaml")
        try folder.link("out", to: outside.path)
        try folder.link("dangling.yaml", to: folder.path + "/nothing")
        try folder.link("same.yaml", to: "a.yaml")
        try folder.link("loop.yaml", to: "loop.yaml")
        try Data([0x76, 0xFF]).write(to: URL(fileURLWithPath: folder.path + "/bytes.yaml"))
        #expect(mkfifo(folder.path + "/fifo", 0o600) == 0)
        let found = folder.findings()
        #expect(found.count == 1 && found[0].hasPrefix("main.yaml:2: include: "), "\(found)")
        // A star reads the files in the order of their names, and an earlier one is already wrong.
        if include != "'*.yaml'" { #expect(found.first?.contains(message) == true, "\(found)") }
    }

    /// A neighbor whose name begins with the folder's name is outside.
    @Test func folderIsComparedByWholeNames() throws {
        let folder = try Folder(["main.yaml": "include: near.yaml"])
        let near = folder.path + "-near"
        try FileManager.default.createDirectory(atPath: near, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: near) }
        try Data("version: 1".utf8).write(to: URL(fileURLWithPath: near + "/near.yaml"))
        try folder.link("near.yaml", to: near + "/near.yaml")
        #expect(folder.findings().first?.contains("leads to a file outside the folder") == true)
    }

    /// Kubernetes replaces a mounted ConfigMap by renaming the link '..data'.
    @Test func linksWithinTheFolderAreFollowed() throws {
        let folder = try Folder(["..2026/main.yaml": "include: conf.d/*.yaml", "..2026/conf.d/a.yaml": "threads: 3"])
        try folder.link("..data", to: "..2026")
        try folder.link("main.yaml", to: "..data/main.yaml")
        try folder.link("conf.d", to: "..data/conf.d")
        #expect(try folder.read().threads == 3)
    }

    @Test func textWithoutAFileCannotIncludeFiles() {
        #expect(
            findings("version: 1\ninclude: a.yaml") == [
                "line 2: include: A configuration without a file cannot include files."
            ]
        )
    }

    // MARK: Limits

    @Test func cyclesAreRejected() throws {
        let folder = try Folder([
            "main.yaml": "include: a.yaml", "a.yaml": "include: b.yaml", "b.yaml": "include: a.yaml",
        ])
        #expect(
            folder.findings() == [
                "b.yaml:2: include: 'a.yaml' is already included at main.yaml:2. Include each file once."
            ]
        )
        try folder.write("a.yaml", "include: a.yaml")
        #expect(
            folder.findings() == [
                "a.yaml:2: include: 'a.yaml' is already included at main.yaml:2. Include each file once."
            ]
        )
        try folder.write("a.yaml", "include: main.yaml")
        #expect(folder.findings() == ["a.yaml:2: include: 'main.yaml' is the main file. Include other files only."])
    }

    @Test func depthIsLimited() throws {
        let depth = SourceFiles.maximumDepth
        let folder = try Folder(["main.yaml": "include: 1.yaml", "\(depth).yaml": "threads: 3"])
        for level in 1..<depth { try folder.write("\(level).yaml", "include: \(level + 1).yaml") }
        #expect(try folder.read().threads == 3)
        try folder.write("\(depth).yaml", "include: x.yaml")
        #expect(
            folder.findings() == ["\(depth).yaml:2: include: Files include each other more than \(depth) levels deep."]
        )
    }

    @Test func numberOfFilesIsLimited() throws {
        let folder = try Folder(["main.yaml": "include: conf.d/*.yaml"])
        for number in 1..<SourceFiles.maximumCount { try folder.write("conf.d/\(number).yaml", "") }
        _ = try folder.read()
        try folder.write("conf.d/x.yaml", "")
        #expect(
            folder.findings() == [
                "main.yaml:2: include: There are too many files. The limit is \(SourceFiles.maximumCount), including the main file."
            ]
        )
    }

    @Test func lengthOfAllFilesIsLimited() throws {
        let half = String(repeating: "#", count: SourceFiles.maximumLength / 2)
        let folder = try Folder(["main.yaml": "include: [a.yaml, b.yaml]", "a.yaml": half, "b.yaml": half])
        #expect(
            folder.findings() == [
                "main.yaml:2: include: All files together have more than \(SourceFiles.maximumLength) bytes, which is the limit."
            ]
        )
    }

    @Test func originsOfAllFilesAreCounted() throws {
        func origins(_ numbers: Range<Int>) -> String {
            "origins:\n" + numbers.map { "  \"https://o\($0).test\": {verify: true}\n" }.joined()
        }
        let folder = try Folder(["main.yaml": "include: a.yaml\n" + origins(0..<60), "a.yaml": origins(60..<65)])
        #expect(folder.findings().contains("a.yaml:2: origins: There are 65 origins. The limit is 64."))
    }
}
