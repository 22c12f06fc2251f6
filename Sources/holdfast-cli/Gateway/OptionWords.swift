import HoldfastControl

/// Converts a problem to the terms of the command line. The control plane refers to JSON members,
/// but the user typed options.
enum OptionWords {
    static func text(_ problem: ControlProblem) -> String {
        // The errors of a file are about its settings.
        if problem.findings != nil { return problem.detail }
        return problem.detail
            .replacing(/'select\.prefixes: ([^']*)'/) { match in "'--prefix \(match.1)'" }
            .replacing(/'select\.(urls|prefixes|tags|hosts)\[(\d+)\]'/) { match in
                let number = (Int(match.2) ?? 0) &+ 1
                return match.1 == "urls" ? "URL \(number)" : "'\(option(match.1))' number \(number)"
            }
            .replacing("'select.all'", with: "'--all'")
            .replacing("'select'", with: "The command line")
            .replacing("'origin' must be", with: "'--of-origin' must be")
            .replacing("'route' must be", with: "'--of-route' must be")
            .replacing("set 'replace' to true", with: "use '--replace'")
            .replacing("'file' is", with: "'--config' is")
            .replacing("'origin' is", with: "'--origin' is")
            .replacing("'reason'", with: "'--reason'")
            .replacing("'within'", with: "'--within'")
            .replacing("'until'", with: "'--until'")
            .replacing("'for'", with: "'--for'")
            .replacing("('PUT /v1/mode') first", with: "with 'holdfast mode' first")
            .replacing("Send several requests", with: "Run several commands")
    }

    private static func option(_ member: Substring) -> String {
        switch member {
        case "prefixes": "--prefix"
        case "tags": "--tag"
        default: "--host"
        }
    }
}
