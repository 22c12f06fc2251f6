import Holdfast

/// A property or a function of a type in source text.
struct SwiftMember {
    enum Kind { case property, function }

    var kind: Kind
    var name: String
    /// The type in Swift's short form, either stated or inferred from the initial value; `nil` if
    /// unknown.
    var type: String?
    var modifiers: Set<String>
    var line: Int
    /// Whether the member is a function without parameters.
    var isWithoutParameters = false

    var isStatic: Bool { modifiers.contains("static") || modifiers.contains("class") }
    var isPrivate: Bool { modifiers.contains("private") || modifiers.contains("fileprivate") }
}

/// A type, a protocol or an extension in source text.
struct SwiftDeclaration {
    /// The enclosing types and the type's own name, such as `API.Feed`. For a type in a block of
    /// code, the path includes the block's number.
    var path: String
    var isProtocol: Bool
    /// Whether other files cannot see the type, because it is private or inside code.
    var isPrivate: Bool
    var inherited: [String]
    var members: [SwiftMember] = []
    var file: String

    /// The last part of the path.
    var name: String { String(path.split(separator: ".").last ?? "") }
}

/// Finds the declarations in a Swift file. It reads only text and does not know the types of other
/// files.
struct SwiftDeclarations {
    private let tokens: [SwiftToken]
    private let file: String
    private var position = 0
    private var blocks = 0
    private var depth = 0
    private(set) var all: [SwiftDeclaration] = []
    /// The types that type aliases refer to, keyed by alias.
    private(set) var aliases: [String: String] = [:]

    private static let kinds: Set<String> = ["struct", "enum", "class", "actor", "protocol", "extension"]
    private static let modifiers: Set<String> = [
        "static", "class", "lazy", "private", "fileprivate", "internal", "package", "public", "open", "final",
        "nonisolated", "override", "weak", "unowned", "mutating", "nonmutating", "isolated", "dynamic", "required",
        "convenience", "indirect",
    ]
    private static let beginnings: Set<String> = modifiers.union(kinds).union([
        "var", "let", "func", "init", "deinit", "subscript", "case", "typealias", "associatedtype", "import",
    ])

    init(_ source: String, file: String) {
        tokens = SwiftTokens(source).all
        self.file = file
        readBlock(within: "", of: nil)
    }

    private var token: SwiftToken? { position < tokens.count ? tokens[position] : nil }
    private func next(_ distance: Int = 1) -> SwiftToken? {
        position + distance < tokens.count ? tokens[position + distance] : nil
    }
    private func isSign(_ text: String) -> Bool { token?.kind == .sign && token?.text == text }

    /// Reads up to the closing brace of the block.
    ///
    /// - Parameter owner: the declaration that contains the members; `nil` in code.
    private mutating func readBlock(within path: String, of owner: Int?) {
        // Braces nested more deeply are skipped.
        guard depth < 128 else { return }
        depth += 1
        defer { depth -= 1 }
        var modifiers: Set<String> = []
        while let token {
            if isSign("}") {
                position += 1
                return
            }
            if isSign("{") {
                readCode(within: path)
            } else if token.kind != .word || isAfterDot {
                position += 1
                if token.kind != .sign || !"()".contains(token.text) { modifiers = [] }
            } else if Self.kinds.contains(token.text), next()?.kind == .word, !Self.isMember(next()?.text) {
                readDeclaration(modifiers, within: path)
                modifiers = []
            } else if let owner, token.text == "var" || token.text == "let" {
                readProperties(of: owner, modifiers, within: path)
                modifiers = []
            } else if let owner, token.text == "func" {
                readFunction(of: owner, modifiers)
                modifiers = []
            } else if token.text == "typealias" {
                readAlias()
            } else {
                // The modifiers continue after `private(set)` and `nonisolated(unsafe)`.
                if Self.modifiers.contains(token.text) {
                    modifiers.insert(token.text)
                } else if !isAfter("(") {
                    modifiers = []
                }
                position += 1
            }
        }
    }

    private var isAfterDot: Bool { isAfter(".") }

    private func isAfter(_ sign: String) -> Bool {
        position > 0 && tokens[position - 1].kind == .sign && tokens[position - 1].text == sign
    }

    /// Returns whether `class` before this word is a modifier.
    private static func isMember(_ word: String?) -> Bool {
        ["var", "let", "func", "subscript", "init"].contains(word)
    }

    private mutating func readCode(within path: String) {
        position += 1
        blocks += 1
        readBlock(within: "\(path).#\(blocks)", of: nil)
    }

    private mutating func readDeclaration(_ modifiers: Set<String>, within path: String) {
        let kind = tokens[position].text
        position += 1
        var name = readName()
        if !path.isEmpty { name = "\(path).\(name)" }
        skipGenerics()
        var inherited: [String] = []
        if isSign(":") {
            repeat {
                position += 1
                while isSign("@") { position += 2 }
                if isSign("~") { position += 1 }
                inherited.append(readName())
                skipGenerics()
            } while isSign(",") || isSign("&")
        }
        while token != nil, !isSign("{"), !isSign("}") { position += 1 }
        guard isSign("{") else { return }
        position += 1
        let isPrivate = name.contains("#") || !modifiers.isDisjoint(with: ["private", "fileprivate"])
        all.append(
            SwiftDeclaration(
                path: name,
                isProtocol: kind == "protocol",
                isPrivate: isPrivate && kind != "extension",
                inherited: inherited,
                file: file
            )
        )
        readBlock(within: name, of: all.count - 1)
    }

    private mutating func readName() -> String {
        var name = ""
        while let token, token.kind == .word, name.isEmpty || name.hasSuffix(".") {
            name += token.text
            position += 1
            if isSign(".") {
                name += "."
                position += 1
            }
        }
        return name
    }

    private mutating func skipGenerics() {
        guard isSign("<") else { return }
        var depth = 0
        while token != nil {
            if isSign("<") { depth += 1 }
            if isSign(">") { depth -= 1 }
            position += 1
            if depth == 0 { return }
        }
    }

    private mutating func readAlias() {
        position += 1
        let name = readName()
        skipGenerics()
        guard isSign("=") else { return }
        position += 1
        aliases[name] = readType()
    }

    private mutating func readFunction(of owner: Int, _ modifiers: Set<String>) {
        position += 1
        guard let token, token.kind == .word else { return }
        position += 1
        var member = SwiftMember(kind: .function, name: token.text, modifiers: modifiers, line: token.line)
        skipGenerics()
        member.isWithoutParameters = isSign("(") && next()?.text == ")"
        all[owner].members.append(member)
    }

    private mutating func readProperties(of owner: Int, _ modifiers: Set<String>, within path: String) {
        repeat {
            // Skip `var`, `let` or a comma.
            position += 1
            guard let token, token.kind == .word else { return }
            position += 1
            var member = SwiftMember(kind: .property, name: token.text, modifiers: modifiers, line: token.line)
            if isSign(":") {
                position += 1
                member.type = readType()
            }
            if isSign("=") {
                position += 1
                let evident = evidentType()
                member.type = member.type ?? evident
                skipValue(within: path)
            }
            all[owner].members.append(member)
        } while isSign(",")
    }

    /// Reads a type. A type ends at the end of the line, unless a bracket is open.
    private mutating func readType() -> String {
        var (text, depth) = ("", 0)
        var line = token?.line
        while let token {
            if depth == 0 {
                if token.line != line || isSign("=") || isSign("{") || isSign(",") || isSign("}") || isSign(";") {
                    break
                }
            }
            if token.kind == .sign {
                if "([<".contains(token.text) { depth += 1 }
                if ")]".contains(token.text) || token.text == ">" && !text.hasSuffix("-") { depth -= 1 }
            }
            text += text.last?.isLetter == true && token.kind == .word ? " " + token.text : token.text
            line = token.line
            position += 1
        }
        return TypeText(text).text
    }

    /// Infers the type of an initial value that is a literal or an initializer call.
    private func evidentType() -> String? {
        guard let token else { return nil }
        switch token.kind {
        case .text: return continues(after: 0) ? nil : "String"
        case .number: return continues(after: 0) ? nil : token.text.contains(".") ? "Double" : "Int"
        case .sign: return nil
        case .word:
            if token.text == "true" || token.text == "false" { return continues(after: 0) ? nil : "Bool" }
            var (name, distance) = ("", 0)
            while let word = next(distance), word.kind == .word, word.text.first?.isUppercase == true {
                name += (name.isEmpty ? "" : ".") + word.text
                distance += 1
                guard next(distance)?.text == ".", next(distance + 1)?.text.first?.isUppercase == true else { break }
                distance += 1
            }
            guard !name.isEmpty else { return nil }
            let type = TypeText(name).text
            if EndpointRequirement.all.contains(where: { $0.types.contains(type) }) { return type }
            guard let opening = next(distance)?.text, opening == "(" || opening == "{" else { return nil }
            return continues(after: bracketEnd(from: distance)) ? nil : type
        }
    }

    /// Returns whether the expression continues after this token, for example with a member, a
    /// range or a comparison, so that it may have a different type.
    private func continues(after distance: Int) -> Bool {
        guard let sign = next(distance + 1), sign.kind == .sign else { return false }
        return ".!?=[(".contains(sign.text)
    }

    /// Returns the distance to the closing bracket that matches the opening bracket at a distance.
    private func bracketEnd(from start: Int) -> Int {
        var (depth, distance) = (0, start)
        while let token = next(distance) {
            if token.kind == .sign, "([{".contains(token.text) { depth += 1 }
            if token.kind == .sign, ")]}".contains(token.text) { depth -= 1 }
            if depth == 0 { break }
            distance += 1
        }
        return distance
    }

    /// Skips an initial value, up to a comma or a line that starts another member.
    private mutating func skipValue(within path: String) {
        var depth = 0
        let first = position
        while let token {
            if depth == 0, position > first {
                if isSign(",") || isSign("}") || isSign(";") { return }
                let isNewLine = token.line > tokens[position - 1].line
                if isNewLine, !isAfterDot,
                    token.kind == .word && Self.beginnings.contains(token.text) || isSign("@") || isSign("#")
                {
                    return
                }
            }
            if isSign("{") {
                readCode(within: path)
                continue
            }
            if token.kind == .sign {
                if "([".contains(token.text) { depth += 1 }
                if ")]".contains(token.text) { depth -= 1 }
            }
            position += 1
        }
    }
}
