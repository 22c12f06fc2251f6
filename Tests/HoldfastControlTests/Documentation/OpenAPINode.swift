import Foundation
import Yams

/// A value in docs/openapi.yaml, with its members in the file's order.
struct OpenAPINode {
    private let given: Node?
    private let root: Node

    init(_ node: Node?, root: Node) {
        (given, self.root) = (node, root)
    }

    /// The path that this value refers to, if it is a reference.
    var reference: String? { given?["$ref"]?.string }

    private var node: Node? {
        guard let reference else { return given }
        return reference.split(separator: "/").dropFirst().reduce(root as Node?) { $0?[String($1)] }
    }

    var exists: Bool { node != nil }
    /// A text in the form it has in the file. Empty if there is none.
    var text: String { node?.scalar?.string ?? "" }
    var items: [OpenAPINode] { node?.sequence?.map { OpenAPINode($0, root: root) } ?? [] }
    var members: [(String, OpenAPINode)] {
        node?.mapping?.map { ($0.key.scalar?.string ?? "", OpenAPINode($0.value, root: root)) } ?? []
    }

    subscript(name: String) -> OpenAPINode { OpenAPINode(node?[name], root: root) }

    func has(_ name: String) -> Bool { self[name].exists }

    // MARK: In words

    /// The text in one line, for a table.
    var cell: String {
        text.split(whereSeparator: \.isWhitespace).joined(separator: " ").replacing("|", with: "\\|")
    }

    /// The kind of value that a schema describes.
    var kind: String {
        if has("enum") { return self["enum"].items.map { "`\($0.text)`" }.joined(separator: ", ") }
        if self["format"].text == "date-time" { return "date and time" }
        if self["format"].text == "uri" { return "URL" }
        let kind =
            switch self["type"].text {
            case "array": "list of \(self["items"].kind)s"
            case "string": "text"
            case "boolean": "true or false"
            case "": "object"
            default: self["type"].text
            }
        guard has("minimum") else { return kind }
        return kind + " from \(self["minimum"].text)" + (has("maximum") ? " to \(self["maximum"].text)" : "")
    }

    /// A schema's default, as code.
    var defaultValue: String { has("default") ? "`\(self["default"].text)`" : "" }

    // MARK: JSON

    /// The value as lines of JSON: in one line where it fits.
    func json(width: Int) -> [String] {
        json(indent: "", width: width, before: 0).split(separator: "\n").map(String.init)
    }

    private func json(indent: String, width: Int, before: Int) -> String {
        guard let node else { return "null" }
        if let scalar = node.scalar { return Self.json(scalar, node) }
        let (open, close) = node.mapping == nil ? ("[", "]") : ("{", "}")
        func parts(_ indent: String, _ width: Int) -> [String] {
            if node.mapping == nil { return items.map { $0.json(indent: indent, width: width, before: 0) } }
            return members.map { name, value in
                let name = Self.quoted(name) + ": "
                return name + value.json(indent: indent, width: width, before: name.unicodeScalars.count)
            }
        }
        let line = open + parts("", .max / 2).joined(separator: ", ") + close
        if indent.count + before + line.unicodeScalars.count <= width { return line }
        let inner = indent + "  "
        let list = parts(inner, width - 1).map { inner + $0 }.joined(separator: ",\n")
        return "\(open)\n\(list)\n\(indent)\(close)"
    }

    private static func json(_ scalar: Node.Scalar, _ node: Node) -> String {
        let isPlain = node.int != nil || node.float != nil || node.bool != nil || node.null != nil
        guard scalar.style == .plain, isPlain else { return quoted(scalar.string) }
        return node.null == nil ? scalar.string : "null"
    }

    private static func quoted(_ text: String) -> String {
        let escaped = text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        return "\"\(escaped.replacing("\n", with: "\\n").replacing("\t", with: "\\t"))\""
    }
}
