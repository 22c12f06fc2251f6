import Foundation
import TestSupport
import Testing

@testable import HoldfastConfiguration

/// The store's folder of files that have errors elsewhere.
@Suite(.timeLimit(.minutes(20))) struct InvalidFileTests {
    /// Returns the folder that `main.yaml` sets, relative to that file.
    private func folder(of files: [String: String], _ environment: [String: String] = [:]) throws -> String? {
        let parent = try TemporaryFolder()
        for (name, text) in files {
            let file = URL(fileURLWithPath: "\(parent.path)/\(name)")
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(),
                withIntermediateDirectories: true
            )
            try Data(text.utf8).write(to: file)
        }
        let main = parent.path + "/main.yaml"
        #expect(throws: ConfigurationError.self) { try Configuration(contentsOf: main, environment: environment) }
        let folder = Configuration.storeFolder(ofInvalidFile: main, environment: environment)
        return folder?.replacingOccurrences(of: parent.path + "/", with: "")
    }

    @Test(arguments: [
        "version: 1\nstore: {path: s}\nmode: never\n", "version: 9\nstore: {path: s}\n", "store: {path: s}\n",
        "version: 1\nstore: {path: s, budget: much}\nroutes: none\nunknown: 1\n",
        "{\"version\": 1, \"store\": {\"path\": \"s\"}, \"mode\": \"never\"}",
    ])
    func errorElsewhereDoesNotHideTheFolder(text: String) throws {
        #expect(try folder(of: ["main.yaml": text]) == "s")
    }

    @Test(arguments: [
        "version: 1\nstore: {path: s}\n routes: []\n", "version: 1\nroutes:\n\t- {}\nstore:\n  # here\n  path: s\n",
        "version: 1\r\nstore:\r\n  budget: 1 GiB\r\n\r\n  path: \"s\"\r\nmode: [\r\n",
        "routes: [\nstore: {\n  path: s\n  }\nmode: {\n",
    ])
    func folderIsFoundInTextThatIsNotYAML(text: String) throws {
        #expect(try folder(of: ["main.yaml": text]) == "s")
    }

    @Test(arguments: [
        "version: 1\nmode: never\n", "version: 1\nstore: s\n", "version: 1\nstore: {path: [s]}\n",
        "version: 1\nstore: {path: \"${NO_SUCH}\"}\n", "mode: [\nstore: {path: s}\nstore: {path: t}\n",
        "mode: [\nstore:\nother:\n  path: s\n", "mode: [\nrules: {store: {path: s}}\n", "mode: [\nstore: {path: s\n",
        "mode: [\nstore:\n  quotas: {path: s}\n",
    ])
    func unreadableFolderIsNotGuessed(text: String) throws {
        #expect(try folder(of: ["main.yaml": text]) == nil)
    }

    @Test func variablesAndIncludedFilesCount() throws {
        let main = "version: 1\ninclude: [conf.d/*.yaml]\nmode: never\n"
        let files = ["main.yaml": main, "conf.d/store.yaml": "version: 1\nstore: {path: \"${PLACE}/s\"}\n"]
        #expect(try folder(of: files, ["PLACE": "here"]) == "here/s")
        #expect(try folder(of: ["main.yaml": "version: 1\nmode: never\nstore: {path: /var/s}\n"]) == "/var/s")
    }

    @Test func missingFileHasNoFolder() {
        #expect(Configuration.storeFolder(ofInvalidFile: "/no/such.yaml", environment: [:]) == nil)
    }
}
