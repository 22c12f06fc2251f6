import HTTPCacheSemantics
import HoldfastConfiguration
import NIOCore

/// A problem as an HTML page, for people.
///
/// All values are escaped, and the gateway's own page has no script and loads nothing.
struct ProblemPage {
    typealias Template = TextTemplate<HoldfastConfiguration.Configuration.ErrorPages.Placeholder>

    let problem: Problem
    /// The URL that the client requested.
    let url: String
    /// When the origin last responded; `nil` if that is not known.
    let lastContact: Timestamp?
    let requestID: String?
    /// Whether the browser requests the page again by itself: `Refresh`, as HTML defines it.
    let retries: Bool

    /// The seconds between two requests of a page that waits for the origin. The gateway answers
    /// them from memory while the origin is unreachable.
    static let retryInterval = 15
    /// The gateway's own page may use its style, and nothing else.
    static let securityPolicy =
        "default-src 'none'; style-src 'sha256-\(styleDigest)'; base-uri 'none'; form-action 'none'; "
        + "frame-ancestors 'none'"
    static let style =
        "body{margin:0 auto;max-width:40rem;padding:3rem 1.5rem;font:1rem/1.5 system-ui,sans-serif;"
        + "color-scheme:light dark}h1{font-size:1.5rem}p{overflow-wrap:anywhere}small{opacity:.7}"
    /// The SHA-256 digest of ``style``, in Base64.
    static let styleDigest = "Qvng1fq7OZ2IZD0QqZRd/IHZIVA0OtENkHBKpth0+0s="

    /// Returns the page.
    ///
    /// - Parameter page: the page of the route; `nil` for the gateway's own.
    func html(_ page: RoutePage?) -> ByteBuffer {
        page?.whole ?? ByteBuffer(string: page.map { filled($0.template) } ?? own)
    }

    private func filled(_ template: Template) -> String {
        template.filled { placeholder in
            switch placeholder {
            case .status: "\(problem.status)"
            case .title: problem.title.escapedForHTML
            case .detail: problem.detail.escapedForHTML
            case .url: url.escapedForHTML
            case .lastContact: lastContact.map { HTTPDate.format($0) } ?? "unknown"
            }
        }
    }

    private var own: String {
        let title = problem.isOutage ? "This page is not available right now" : problem.title.escapedForHTML
        var lines = [
            "<!doctype html>", #"<html lang="en">"#, #"<meta charset="utf-8">"#,
            #"<meta name="viewport" content="width=device-width">"#, #"<meta name="robots" content="noindex">"#,
        ]
        lines += ["<title>\(title)</title>", "<style>\(Self.style)</style>", "<h1>\(title)</h1>"]
        lines.append("<p>\(problem.detail.escapedForHTML)</p>")
        if problem.isOutage, let lastContact {
            lines.append("<p>The site's server last responded on \(HTTPDate.format(lastContact)).</p>")
        }
        if retries { lines.append("<p>This page tries again every \(Self.retryInterval) seconds.</p>") }
        let request = requestID.map { " · request \($0.escapedForHTML)" } ?? ""
        lines.append("<p><small>\(problem.status) · \(problem.code.escapedForHTML)\(request)</small></p>")
        return lines.joined(separator: "\n") + "\n"
    }
}

/// The page that a route has for some of its problems.
struct RoutePage: Sendable {
    fileprivate let template: ProblemPage.Template
    /// The page if it is the same for each problem. All responses share these bytes, however slowly
    /// their clients read.
    let whole: ByteBuffer?

    init(_ template: ProblemPage.Template) {
        self.template = template
        whole = template.count == 0 ? ByteBuffer(string: template.filled { _ in "" }) : nil
    }
}

extension String {
    /// The text with the characters escaped that HTML may read as markup, in content and in quoted
    /// attributes.
    var escapedForHTML: String {
        var escaped = ""
        for scalar in unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
