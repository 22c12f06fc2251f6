import CacheRules
import LocalFiles

extension Configuration {
    /// `error-pages` of a route: the HTML pages that browsers get instead of the gateway's own.
    package struct ErrorPages: Sendable, Hashable {
        /// `offline`: for problems that mean that the origin cannot be reached, and nothing usable
        /// is stored.
        package var offline: Page?
        /// `error`: for the route's other problems.
        package var error: Page?

        package init() {}

        /// The parts of a problem that a page can show.
        package enum Placeholder: String, CaseIterable, Sendable {
            case status, title, detail, url
            case lastContact = "last-contact"
        }

        /// A page in a file.
        package struct Page: Sendable, Hashable {
            /// The file's path, as given.
            package let file: String
            /// The file's content; empty if files are not read.
            package var template = TextTemplate<Placeholder>("")

            package init(file: String) { self.file = file }
        }

        /// The maximum size of a file, in bytes.
        package static let sizeLimit = 256 << 10
        /// The maximum size of a file with placeholders, in bytes. Each response has its own copy
        /// of such a page; otherwise all share one.
        package static let filledSizeLimit = 32 << 10
        /// The maximum number of placeholders in a file, which bounds the size of the result.
        package static let placeholderLimit = 16
    }

    /// Reads the files of `error-pages`, each once.
    ///
    /// - Parameter previous: the configuration in force, whose content stays in use for a file that
    ///   cannot be used.
    /// - Returns: a finding for each file that cannot be used and has no previous content.
    mutating func readErrorPages(since previous: Configuration?) -> [ConfigurationError.Finding] {
        var (findings, unreadable): ([ConfigurationError.Finding], [ConfigurationError.Finding]) = ([], [])
        var known: [String: TextTemplate<ErrorPages.Placeholder>] = [:]
        let before = previous?.pageTemplates ?? [:]
        for index in routes.indices {
            let (subject, line) = (routes[index].subject(number: index + 1), routes[index].line)
            for (name, page) in [("offline", \ErrorPages.offline), ("error", \ErrorPages.error)] {
                guard let file = routes[index].errorPages[keyPath: page]?.file else { continue }
                do throws(Refusal) {
                    if known[file] == nil { known[file] = try readTemplate(in: file) }
                    if let template = known[file] { routes[index].errorPages[keyPath: page]?.template = template }
                } catch {
                    let finding = ConfigurationError.Finding(
                        file: routes[index].file ?? self.file,
                        line: line,
                        subject: subject,
                        setting: "error-pages.\(name)",
                        message: error.message
                    )
                    if let template = before[file] {
                        routes[index].errorPages[keyPath: page]?.template = template
                        // Other routes with this file need no finding of their own.
                        known[file] = template
                        unreadable.append(finding)
                    } else {
                        findings.append(finding)
                    }
                }
            }
        }
        unreadablePages = describe(unreadable)
        return findings
    }

    /// The content of the pages in use, by file.
    private var pageTemplates: [String: TextTemplate<ErrorPages.Placeholder>] {
        let pages = routes.flatMap { [$0.errorPages.offline, $0.errorPages.error].compactMap(\.self) }
        return Dictionary(pages.map { ($0.file, $0.template) }) { first, _ in first }
    }

    private func readTemplate(in file: String) throws(Refusal) -> TextTemplate<ErrorPages.Placeholder> {
        let file = besideFile(file)
        let bytes: [UInt8]
        do throws(LocalFile.Refusal) {
            bytes = try LocalFile.read(file, limit: ErrorPages.sizeLimit)
        } catch {
            throw Refusal("The file \(shown(path: file)) \(error.message)")
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw Refusal("The file \(shown(path: file)) is not UTF-8. Save it as UTF-8.")
        }
        let markup = PageMarkup(text)
        if let message = TextTemplate<ErrorPages.Placeholder>.unknownPlaceholder(in: markup.text) {
            throw Refusal("The file \(shown(path: file)): \(message) Write '&#123;' for a brace.")
        }
        if let placeholder = TextTemplate<ErrorPages.Placeholder>(markup.code).first {
            throw Refusal(
                "The file \(shown(path: file)) has '{\(placeholder.rawValue)}' in a script, in a style, or in an attribute without quotes, where its value is not safe. Move it into text, or into quotes as in 'href=\"{url}\"'."
            )
        }
        let template = TextTemplate<ErrorPages.Placeholder>(text)
        guard template.count <= ErrorPages.placeholderLimit else {
            throw Refusal(
                "The file \(shown(path: file)) has \(template.count) placeholders. The limit is \(ErrorPages.placeholderLimit)."
            )
        }
        guard template.count == 0 || bytes.count <= ErrorPages.filledSizeLimit else {
            throw Refusal(
                "The file \(shown(path: file)) has placeholders and \(bytes.count) bytes. The limit with placeholders is \(ErrorPages.filledSizeLimit)."
            )
        }
        return template
    }
}

extension Readers {
    static let errorPagesShape = Shape.mapping([.init("offline", .text), .init("error", .text)])

    static func errorPages(_ value: FileValue) throws(Refusal) -> Configuration.ErrorPages {
        var pages = Configuration.ErrorPages()
        for entry in try value.entries("'{offline: FILE, error: FILE}'") {
            let page = Configuration.ErrorPages.Page(file: try entry.value.text("the path of an HTML file"))
            switch entry.key {
            case "offline": pages.offline = page
            case "error": pages.error = page
            default: throw unknown(entry, of: ["offline", "error"])
            }
        }
        guard pages != .init() else { throw Refusal("It names no file. Write 'offline' or 'error', or remove it.") }
        return pages
    }
}
