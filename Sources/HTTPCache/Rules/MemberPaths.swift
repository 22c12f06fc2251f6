/// Members of JSON in an operator's notation: `user`, `metadata.trace`, or `messages[*].id` for the
/// member `id` of each item of `messages`.
///
/// Names are compared by their bytes. The paths are compiled once for all requests.
public struct MemberPaths: Sendable, Hashable {
    /// The paths, in the operator's order.
    public let paths: [String]
    let root: Node

    /// The maximum number of paths in one rule.
    public static let limit = 32
    /// The maximum length of a path, in bytes, and the maximum number of its steps.
    private static let maximumLength = 256, maximumSteps = 16

    /// - Parameter paths: texts for which ``isPath(_:)`` is `true`. Any other text matches nothing.
    public init(_ paths: [String]) {
        self.paths = paths
        var root = Node()
        for path in paths {
            if let steps = Self.steps(of: path) { root.add(steps[...]) }
        }
        self.root = root
    }

    /// Whether there are no paths.
    public var isEmpty: Bool { paths.isEmpty }

    /// Returns whether a text is a path: names separated by dots, with `[*]` for each item of a
    /// list. A name has no dots, brackets, stars, quotes, spaces or control characters.
    public static func isPath(_ text: String) -> Bool { steps(of: text) != nil }

    /// A set of paths as a tree: the position in an object or list, and what is ignored below it.
    struct Node: Sendable, Hashable {
        /// Whether a path ends here.
        private(set) var isEnd = false
        private var members: [Member] = []
        /// The node for each item of a list; none, or one.
        private var items: [Node] = []

        private struct Member: Sendable, Hashable {
            var name: String
            var node: Node
        }

        /// Returns the node of an object's member; `nil` if nothing in it is ignored.
        func member(_ name: String) -> Node? {
            members.first { $0.name.utf8.elementsEqual(name.utf8) }?.node
        }

        /// The node of a list's items; `nil` if nothing in them is ignored.
        var item: Node? { items.first }

        fileprivate mutating func add(_ steps: ArraySlice<Step>) {
            guard let step = steps.first else {
                isEnd = true
                return
            }
            switch step {
            case .member(let name):
                let place = members.firstIndex { $0.name.utf8.elementsEqual(name.utf8) } ?? members.endIndex
                if place == members.endIndex { members.append(Member(name: name, node: Node())) }
                members[place].node.add(steps.dropFirst())
            case .items:
                var node = items.first ?? Node()
                node.add(steps.dropFirst())
                items = [node]
            }
        }
    }

    fileprivate enum Step {
        case member(String)
        case items
    }

    private static func steps(of text: String) -> [Step]? {
        guard text.utf8.count <= maximumLength else { return nil }
        var steps: [Step] = []
        var rest = text.utf8[...]
        while !rest.isEmpty {
            if rest.starts(with: "[*]".utf8) {
                steps.append(.items)
                rest = rest.dropFirst(3)
            } else {
                if !steps.isEmpty {
                    guard rest.first == UInt8(ascii: ".") else { return nil }
                    rest = rest.dropFirst()
                }
                let name = rest.prefix(while: isNameByte)
                guard !name.isEmpty else { return nil }
                steps.append(.member(String(Substring(name))))
                rest = rest.dropFirst(name.count)
            }
        }
        return steps.isEmpty || steps.count > maximumSteps ? nil : steps
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0...0x20, 0x7F, UInt8(ascii: "."), UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: "*"),
            UInt8(ascii: "\""), UInt8(ascii: "'"):
            false
        default: true
        }
    }
}
