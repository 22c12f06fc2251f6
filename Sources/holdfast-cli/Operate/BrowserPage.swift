import CommandLineSupport
import Foundation

/// Opens a page in the user's browser.
enum BrowserPage {
    #if os(macOS)
        private static let opener = "/usr/bin/open"
    #else
        private static let opener = "/usr/bin/xdg-open"
    #endif

    /// Opens a URL that contains a secret.
    ///
    /// Every user of the machine can see a program's arguments. The browser therefore opens a file
    /// that redirects to the URL. Only this user can read the file.
    ///
    /// - Throws: `CommandFailure`
    static func open(_ url: String) throws {
        guard FileManager.default.isExecutableFile(atPath: opener) else {
            throw CommandFailure("'\(opener)' was not found. Open the address in a browser yourself.")
        }
        let parent = ProcessInfo.processInfo.environment["XDG_RUNTIME_DIR"] ?? NSTemporaryDirectory()
        var template = Array("\(parent)/holdfast-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw CommandFailure("No folder can be created in '\(parent)'. Check its permissions.")
        }
        let folder = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        let file = folder + "/page.html"
        do {
            try Data(page(url).utf8).write(to: URL(fileURLWithPath: file))
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
            let process = Process()
            process.executableURL = URL(fileURLWithPath: opener)
            process.arguments = [file]
            try process.run()
        } catch {
            throw CommandFailure("The browser could not be opened: \(error). Open the address yourself.")
        }
    }

    /// Returns a page that redirects to a URL.
    static func page(_ url: String) -> String {
        let escaped = url.replacing("&", with: "&amp;").replacing("\"", with: "&quot;").replacing("<", with: "&lt;")
        return """
            <!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><title>Holdfast</title>
            <meta http-equiv="refresh" content="0;url=\(escaped)"><p><a href="\(escaped)">Holdfast</a></p>

            """
    }
}
