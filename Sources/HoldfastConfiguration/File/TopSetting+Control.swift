import CacheRules
import HTTPCacheSemantics

/// The settings of the control plane.
extension TopSetting {
    static let control = [
        TopSetting(
            "control.socket",
            .orOff(.text),
            read: { (value, configuration) throws(Refusal) in
                configuration.control.isOff = value.isOff
                configuration.control.socket = value.isOff ? nil : try value.text("a path, or 'off'")
            },
            written: { $0.control.isOff ? "off" : $0.control.socket }
        ),
        TopSetting(
            "control.listen",
            .orOff(.text),
            read: { (value, configuration) throws(Refusal) in
                configuration.control.listen = value.isOff ? nil : try listen(value)
            },
            written: { $0.control.listen ?? "off" }
        ),
        TopSetting(
            "control.tokens",
            tokensShape,
            read: { (value, configuration) throws(Refusal) in configuration.control.tokens = try tokens(value) },
            written: {
                $0.control.tokens.isEmpty ? nil : "[\($0.control.tokens.map(written).joined(separator: ", "))]"
            }
        ),
        TopSetting(
            "control.hosts",
            .list(.text),
            read: { (value, configuration) throws(Refusal) in configuration.control.hosts = try hosts(value) },
            written: { $0.control.hosts.isEmpty ? nil : Writers.list($0.control.hosts) }
        ),
        TopSetting(
            "control.insecure",
            .flag,
            read: { (value, configuration) throws(Refusal) in configuration.control.isInsecure = try value.flag() },
            written: { "\($0.control.isInsecure)" }
        ),
    ]

    /// The maximum number of tokens. Each request is compared with all of them.
    private static let maximumTokens = 100
    private static let tokensShape = Shape.sequence(
        .mapping([
            .init("name", .text, isRequired: true), .init("file", .text, isRequired: true),
            .init("scope", .words(of: Configuration.Scope.self), isRequired: true),
        ]),
        limit: maximumTokens
    )
    private static let tokenKeys = ["name", "file", "scope"]

    private static func written(_ token: Configuration.Token) -> String {
        "{name: \(token.name), file: \(token.file), scope: \(token.scope.rawValue)}"
    }

    private static func tokens(_ value: FileValue) throws(Refusal) -> [Configuration.Token] {
        guard case .list(let values, _) = value, !values.isEmpty else {
            throw Refusal(
                "Expected a list of tokens such as '{name: deploy, file: deploy.token, scope: purge}', not \(value.kind)."
            )
        }
        guard values.count <= maximumTokens else {
            throw Refusal("There are \(values.count) tokens. The limit is \(maximumTokens).")
        }
        var result: [Configuration.Token] = []
        for value in values {
            let token = try token(value)
            guard !result.contains(where: { $0.name == token.name }) else {
                throw Refusal("Two tokens have the name \(shown(token.name)). Rename one of them.", line: value.line)
            }
            result.append(token)
        }
        return result
    }

    private static func token(_ value: FileValue) throws(Refusal) -> Configuration.Token {
        var name: String?
        var file: String?
        var scope: Configuration.Scope?
        for entry in try value.entries("'name', 'file' and 'scope'", isSecret: true) {
            switch entry.key {
            case "name": name = try tokenName(entry.value)
            case "file": file = try entry.value.text("the path of a file that holds the token")
            case "scope":
                scope = try entry.reading { (value) throws(Refusal) in
                    try value.word(Configuration.Scope.allCases.map { ($0.rawValue, $0) })
                }
            // Name only the key, because the value could be the token itself.
            default: throw Readers.unknown(entry, of: tokenKeys)
            }
        }
        guard let name, let file, let scope else {
            let missing = [("name", name == nil), ("file", file == nil), ("scope", scope == nil)].first { $0.1 }
            throw Refusal(
                "\(name.map { "The token \(shown($0))" } ?? "A token") has no '\(missing?.0 ?? "")'. It needs 'name', 'file' and 'scope'.",
                line: value.line
            )
        }
        return Configuration.Token(name: name, file: file, scope: scope)
    }

    private static func tokenName(_ value: FileValue) throws(Refusal) -> String {
        let name = try value.text("a name")
        guard name.utf8.allSatisfy(\.isNameByte), name.utf8.count <= 64 else {
            throw Refusal(
                "\(value.shown) is not a valid name. A name has 1 to 64 ASCII letters, digits and '-._'.",
                line: value.line
            )
        }
        return name
    }

    private static func hosts(_ value: FileValue) throws(Refusal) -> [String] {
        var result: [String] = []
        for item in try value.list(of: "hosts such as 'holdfast.internal'") {
            let host = try item.text("a host")
            guard let target = try? TargetURI("http://\(host)/"), target.path == "/", target.query == nil,
                !host.utf8.contains(where: { "*/?#@".utf8.contains($0) })
            else {
                throw Refusal(
                    "\(item.shown) is not a host such as 'holdfast.internal', 'holdfast.internal:9800' or '[fd00::7]'.",
                    line: item.line
                )
            }
            result.append(host)
        }
        return result
    }
}
