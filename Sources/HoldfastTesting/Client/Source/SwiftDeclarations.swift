import Holdfast

/// A property or a function of a type in source text.
struct SwiftMember {
    enum Kind { case property, function }

    var kind: Kind
    var name: String
    /// The type in Swift's short form, stated or evident from the initial value; `nil` if unknown.
    var type: String?
    var modifiers: Set<String>
    var line: Int
    /// Whether it is a function without parameters.
    var isWithoutParameters = false

    var isStatic: Bool { modifiers.contains("static") || modifiers.contains("class") }
    var isPrivate: Bool { modifiers.contains("private") || modifiers.contains("fileprivate") }
}

/// A type, a protocol or an extension in source text.
struct SwiftDeclaration {
    /// The types that it is in, and its own name: `API.Feed`. Types within a block of code have the
    /// block's number in it.
    var path: String
    var isProtocol: Bool
    /// Whether other files do not see it: it is private, or within code.
    var isPrivate: Bool
    var inherited: [String]
    var members: [SwiftMember] = []
    var file: String

    /// The last part of the path.
    var name: String { String(path.split(separator: ".").last ?? "") }
}

/// The declarations of a Swift file. It reads text, and knows no types of other files.
struct SwiftDeclarations {
    private let tokens: [SwiftToken]
    private let file: String
    private var position = 0
    private var blocks = 0
    private var depth = 0
    private(set) var all: [SwiftDeclaration] = []
    /// The types that type aliases stand for, by the alias's name.
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

    /// Reads up to the brace that ends the block.
    ///
    /// - Parameter owner: the declaration whose members these are; `nil` in code.
    private mutating func readBlock(within path: String, of owner: Int?) {
        // Braces that are deeper are read as if they were not there.
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
                // In `private(set)` and `nonisolated(unsafe)` the modifiers continue.
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

    /// Whether `class` before this word is a modifier.
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
            // After `var`, `let` or a comma.
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

    /// Reads a type. It ends with its line, unless a bracket is open.
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

    /// The type of an initial value that shows it: a literal, or a call of an initializer.
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

    /// Whether a value of another type may be made of the value that ends with this token: by a
    /// member, a range, a comparison.
    private func continues(after distance: Int) -> Bool {
        guard let sign = next(distance + 1), sign.kind == .sign else { return false }
        return ".!?=[(".contains(sign.text)
    }

    /// The distance of the bracket that closes the one at a distance.
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

    /// Skips an initial value: up to a comma, or to a line that begins another member.
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
