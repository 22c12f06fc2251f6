import Yams

/// Writes docs/control-api.md from docs/openapi.yaml.
struct ControlPage {
    /// Responses that many operations have. They are explained once.
    private static let common = [
        ("Invalid", 400), ("Unauthorized", 401), ("Forbidden", 403), ("TooSlow", 408), ("TooLarge", 413),
        ("NotJSON", 415), ("WrongHost", 421), ("TooMany", 429),
    ]

    private let document: OpenAPINode
    private var lines: [String] = []

    /// The page's text.
    static func text(_ document: Node) throws -> String {
        var page = ControlPage(document: OpenAPINode(document, root: document))
        try page.write()
        return page.lines.joined(separator: "\n") + "\n"
    }

    private init(document: OpenAPINode) { self.document = document }

    private struct Operation {
        let path: String
        let method: String
        let node: OpenAPINode

        var title: String { "\(method.uppercased()) \(path)" }
    }

    private func operations(tagged tag: String) -> [Operation] {
        document["paths"].members.flatMap { path, methods in
            methods.members.map { Operation(path: path, method: $0, node: $1) }
        }
        .filter { $0.node["tags"].items.first?.text == tag }
    }

    private mutating func write() throws {
        lines = ["<!-- Generated from openapi.yaml by ControlPageTests. Edit that file. -->", "", "# Control API", ""]
        let intro = document["info"]["description"].text.split(separator: "\n", omittingEmptySubsequences: false)
        let first = intro.prefix { !$0.isEmpty }
        lines += first.map(String.init)
        lines += ["", "Programs read the same API from [openapi.yaml](openapi.yaml).", ""]
        let tags = document["tags"].items.map { $0["name"].text }
        let headings = intro.filter { $0.hasPrefix("## ") }.map { Self.link(String($0.dropFirst(3))) }
        wrap(headings.joined(separator: ", "), first: "* ", others: "  ")
        for tag in tags {
            let links = operations(tagged: tag).map { "[`\($0.title)`](#\(Self.anchor($0.title)))" }
            wrap("\(Self.link(tag)): \(links.joined(separator: ", "))", first: "* ", others: "  ")
        }
        lines += intro.dropFirst(first.count).map(String.init)
        // A text in a block of YAML ends with a line break.
        if lines.last != "" { lines.append("") }
        writeCommonResponses()
        for tag in tags {
            lines += ["## \(tag)", ""]
            for operation in operations(tagged: tag) { write(operation) }
        }
        while lines.last == "" { lines.removeLast() }
    }

    private mutating func writeCommonResponses() {
        let responses = document["components"]["responses"]
        lines += ["Operations list only their own statuses. These are common to all:", ""]
        table(["Status", "Meaning"], Self.common.map { ["\($1)", responses[$0]["description"].cell] })
        write(example: responses["Invalid"]["content"]["application/problem+json"]["example"])
        lines.append("")
    }

    private mutating func write(_ operation: Operation) {
        let node = operation.node
        lines += ["### \(operation.title)", ""]
        wrap(node["summary"].text + ".")
        lines.append("")
        for paragraph in node["description"].text.split(separator: "\n") {
            wrap(String(paragraph))
            lines.append("")
        }
        let needsNoToken = node.has("security") && node["security"].items.allSatisfy(\.members.isEmpty)
        var facts = needsNoToken ? "No token." : "Scope: `\(node["x-scope"].text)`."
        if node.has("x-command") { facts += " Command: `\(node["x-command"].text)`." }
        lines += [facts, ""]
        table(["Parameter", "In", "Value", "Default", "Meaning"], node["parameters"].items.map(Self.row(ofParameter:)))
        if node.has("requestBody") { write(request: node["requestBody"]) }
        write(responses: node["responses"])
    }

    private static func row(ofParameter parameter: OpenAPINode) -> [String] {
        let schema = parameter["schema"]
        let (place, name) = (parameter["in"].text, parameter["name"].text)
        return [
            place == "path" ? "`{\(name)}`" : "`\(name)`", place == "header" ? "field" : place, schema.kind,
            parameter.has("required") ? "required" : schema.defaultValue, parameter["description"].cell,
        ]
    }

    private mutating func write(request: OpenAPINode) {
        if request.has("description") {
            wrap(request["description"].text)
            lines.append("")
        }
        let content = request["content"]["application/json"]
        let rows = Self.rows(of: content["schema"])
        table(["Member", "Value", "Default", "Meaning"], rows)
        guard !rows.isEmpty, content.has("example") else { return }
        write(example: content["example"])
        lines.append("")
    }

    /// A row for each member of a request. Members of an object follow it.
    private static func rows(of schema: OpenAPINode, path: String = "") -> [[String]] {
        let required = schema["required"].items.map(\.text)
        return schema["properties"].members.flatMap { name, member in
            let isRequired = required.contains(name)
            let row = [
                "`\(path)\(name)`", member.kind, isRequired ? "required" : member.defaultValue,
                member["description"].cell,
            ]
            return [row] + rows(of: member, path: "\(path)\(name).")
        }
    }

    private mutating func write(responses: OpenAPINode) {
        var written: Set<String> = []
        for (status, response) in responses.members {
            let reference = response.reference
            if let reference, Self.common.contains(where: { reference.hasSuffix("/\($0.0)") }) { continue }
            if let reference, !written.insert(reference).inserted { continue }
            // Statuses with the same response share its description.
            let statuses = reference.map { shared in
                responses.members.filter { $0.1.reference == shared }.map(\.0).joined(separator: ", ")
            }
            wrap(response["description"].text, first: "* **\(statuses ?? status)** ", others: "  ")
            let example = response["content"]["application/json"]["example"]
            guard example.exists else { continue }
            lines.append("")
            write(example: example, indent: "  ")
            lines.append("")
        }
        if lines.last != "" { lines.append("") }
    }

    // MARK: Markdown

    private static let width = 100

    private mutating func write(example: OpenAPINode, indent: String = "") {
        let json = example.json(width: Self.width - indent.count)
        lines += (["```json"] + json + ["```"]).map { indent + $0 }
    }

    private mutating func table(_ heads: [String], _ rows: [[String]]) {
        guard !rows.isEmpty else { return }
        lines += ["| \(heads.joined(separator: " | ")) |", "|" + heads.map { _ in "---|" }.joined()]
        lines += rows.map { "| \($0.joined(separator: " | ")) |" } + [""]
    }

    /// Adds a paragraph in lines of at most 100 columns. Code and links stay whole.
    private mutating func wrap(_ text: String, first: String = "", others: String = "") {
        var line = first
        var (isEmpty, isCode) = (true, false)
        var word = ""
        func fits(_ word: String) -> Bool {
            (line + " " + word).unicodeScalars.count <= Self.width
        }
        for character in text.split(whereSeparator: \.isWhitespace).joined(separator: " ") + " " {
            if character == "`" { isCode.toggle() }
            guard character == " ", !isCode else {
                word.append(character)
                continue
            }
            if isEmpty {
                line += word
            } else if fits(word) {
                line += " " + word
            } else {
                lines.append(line)
                line = others + word
            }
            (isEmpty, word) = (false, "")
        }
        lines.append(line)
    }

    private static func link(_ title: String) -> String { "[\(title)](#\(anchor(title)))" }

    private static func anchor(_ title: String) -> String {
        String(
            title.lowercased().filter { $0.isLetter || $0.isNumber || " _-".contains($0) }.map { $0 == " " ? "-" : $0 }
        )
    }
}
