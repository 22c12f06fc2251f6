import Foundation
import HTTPCacheSemantics

/// The files of the status page, embedded in the binary.
///
/// The files contain no secrets and no data. The page requests its data with a token.
struct PageAssets: Sendable {
    /// One file.
    struct Asset: Sendable, Hashable {
        let type: String
        let bytes: [UInt8]
    }

    /// A folder whose files are read on each request instead of those in the binary. It is `nil`
    /// except while the page is being developed.
    var folder: String?

    /// The page's main file.
    static let index = "index.html"

    /// Returns the file with a name, or `nil` if there is none.
    func asset(_ name: String) -> Asset? {
        guard let type = Self.type(of: name) else { return nil }
        if let folder {
            let data = FileManager.default.contents(atPath: "\(folder)/\(name)")
            return data.map { Asset(type: type, bytes: Array($0)) }
        }
        return Self.embedded[name].map { Asset(type: type, bytes: $0) }
    }

    /// Returns the media type of a file, or `nil` if its name is not allowed. A name consists of
    /// lowercase letters, digits and hyphens, followed by an extension that the page uses. No such
    /// name leads out of the folder.
    static func type(of name: String) -> String? {
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let ending = types[String(parts[1])], !parts[0].isEmpty,
            parts[0].utf8.allSatisfy({ $0.isLowercase || $0.isDigit || $0 == 0x2D })
        else { return nil }
        return ending
    }

    private static let types = [
        "html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8",
        "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml",
    ]

    /// The files in the folder 'Assets', by name. A test reports files that are missing here.
    static let embedded: [String: [UInt8]] = [
        "api.js": PackageResources.api_js,
        "app.js": PackageResources.app_js,
        "badges.js": PackageResources.badges_js,
        "changes.js": PackageResources.changes_js,
        "chart.js": PackageResources.chart_js,
        "copy.js": PackageResources.copy_js,
        "dialog.js": PackageResources.dialog_js,
        "dom.js": PackageResources.dom_js,
        "events.js": PackageResources.events_js,
        "format.js": PackageResources.format_js,
        "index.html": PackageResources.index_html,
        "safe.js": PackageResources.safe_js,
        "session.js": PackageResources.session_js,
        "state.js": PackageResources.state_js,
        "style.css": PackageResources.style_css,
        "table.js": PackageResources.table_js,
        "theme.js": PackageResources.theme_js,
        "timeline.js": PackageResources.timeline_js,
        "view-configuration.js": PackageResources.view_configuration_js,
        "view-nodes.js": PackageResources.view_nodes_js,
        "view-notstored.js": PackageResources.view_notstored_js,
        "view-origins.js": PackageResources.view_origins_js,
        "view-outages.js": PackageResources.view_outages_js,
        "view-overview.js": PackageResources.view_overview_js,
        "view-purges.js": PackageResources.view_purges_js,
        "view-response.js": PackageResources.view_response_js,
        "view-rules.js": PackageResources.view_rules_js,
        "view-stored.js": PackageResources.view_stored_js,
    ]
}
