import HoldfastControl

/// Converts a problem to the terms of the command line. The control plane refers to JSON members,
/// but the user typed options.
enum OptionWords {
    static func text(_ problem: ControlProblem) -> String {
        // The errors of a file are about its settings.
        if problem.findings != nil { return problem.detail }
        let detail = problem.detail
            .replacing(/'select\.prefixes: ([^']*)'/) { match in "'--prefix \(match.1)'" }
            .replacing(/'select\.(urls|prefixes|tags|hosts)\[(\d+)\]'/) { match in
                let number = (Int(match.2) ?? 0) &+ 1
                return match.1 == "urls" ? "URL \(number)" : "'\(option(match.1))' number \(number)"
            }
        return words.reduce(detail) { $0.replacing($1.member, with: $1.option) }
    }

    /// The words of the control plane and those of the command line, in the order of replacement.
    private static let words: [(member: String, option: String)] = [
        ("'select.all'", "'--all'"),
        ("'select'", "The command line"),
        ("'origin' must be", "'--of-origin' must be"),
        ("'route' must be", "'--of-route' must be"),
        ("'server' must be", "The server must be"),
        ("as 'GET /v1/origins' shows it", "as 'holdfast origins' shows it"),
        ("set 'replace' to true", "use '--replace'"),
        ("'file' is", "'--config' is"),
        ("'origin' is", "'--origin' is"),
        ("'reason'", "'--reason'"),
        ("'within'", "'--within'"),
        ("'until'", "'--until'"),
        ("'for'", "'--for'"),
        ("('PUT /v1/mode') first", "with 'holdfast mode' first"),
        (
            "Purge without 'refresh', or switch the mode ('PUT /v1/mode')",
            "Omit '--refresh', or run 'holdfast mode automatic'"
        ),
        ("has finished ('GET /v1/refreshes'), or purge without 'refresh'", "has finished, or omit '--refresh'"),
        ("Send several requests", "Run several commands"),
    ]

    private static func option(_ member: Substring) -> String {
        switch member {
        case "prefixes": "--prefix"
        case "tags": "--tag"
        default: "--host"
        }
    }
}
