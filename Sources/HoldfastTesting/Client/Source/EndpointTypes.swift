import Holdfast

/// The types in some sources that conform to `Endpoint`, and their ignored members.
struct EndpointTypes {
    /// A type or protocol. Private declarations in two files are different even if their names are
    /// equal.
    private struct Identity: Hashable {
        /// The file that can see the declaration; `nil` if all files can.
        var file: String?
        var path: String
    }

    private let declarations: [(identity: Identity, SwiftDeclaration)]
    private let aliases: [String: String]
    /// The paths of private declarations in each file.
    private let hidden: [String: Set<String>]
    /// The protocols that refine `Endpoint`.
    private var protocols: Set<Identity> = []
    /// The types that conform to `Endpoint`, and the protocols that refine it.
    private var conforming: Set<Identity> = []
    /// The names of types that conform to a protocol for requirements' values.
    private let convertible: Set<String>

    init(_ files: [SwiftDeclarations]) {
        let all = files.flatMap(\.all)
        aliases = files.reduce(into: [:]) { $0.merge($1.aliases) { first, _ in first } }
        let hidden = Dictionary(grouping: all.filter(\.isPrivate), by: \.file).mapValues { Set($0.map(\.path)) }
        self.hidden = hidden
        declarations = all.map { (Self.identity(of: $0.path, in: $0.file, hidden), $0) }
        let forRequirements: Set<String> = ["OptionalConvertible", "HTTPFieldsConvertible"]
        convertible = Set(all.filter { !forRequirements.isDisjoint(with: $0.inherited) }.map(\.name))
        var count = -1
        while count < protocols.count {
            count = protocols.count
            for (identity, declaration) in declarations where declaration.isProtocol && conforms(declaration) {
                protocols.insert(identity)
            }
        }
        conforming = Set(declarations.filter { conforms($0.1) }.map(\.identity))
    }

    /// Returns the declaration that a name in a file refers to: a private declaration of that file,
    /// or a declaration that all files can see.
    private static func identity(of path: String, in file: String, _ hidden: [String: Set<String>]) -> Identity {
        guard let hidden = hidden[file] else { return Identity(file: nil, path: path) }
        var outer = path.split(separator: ".")[...]
        while !outer.isEmpty {
            if hidden.contains(outer.joined(separator: ".")) { return Identity(file: file, path: path) }
            outer = outer.dropLast()
        }
        return Identity(file: nil, path: path)
    }

    private func conforms(_ declaration: SwiftDeclaration) -> Bool {
        declaration.inherited.contains { name in
            name == "Endpoint" || name == "Holdfast.Endpoint"
                || protocols.contains(Self.identity(of: name, in: declaration.file, hidden))
        }
    }

    /// The names of the types, without protocols.
    var names: [String] { conforming.subtracting(protocols).map { Self.shown($0.path) }.sorted() }

    var findings: [EndpointSourceCheck.Finding] {
        let parts = Dictionary(grouping: declarations, by: \.identity)
        return conforming.flatMap { identity in
            let own = (parts[identity] ?? []).map(\.1)
            let declared = declaredNames(own)
            return own.flatMap { part in
                part.members.compactMap { member in
                    explain(member, declared).map {
                        EndpointSourceCheck.Finding(
                            file: part.file,
                            line: member.line,
                            endpoint: Self.shown(identity.path),
                            property: member.name,
                            explanation: $0
                        )
                    }
                }
            }
        }
    }

    /// Returns a path without the numbers of blocks.
    private static func shown(_ path: String) -> String {
        path.split(separator: ".").filter { !$0.hasPrefix("#") }.joined(separator: ".")
    }

    /// Returns the names of properties that a type declares itself or gets from a protocol in the
    /// sources.
    private func declaredNames(_ parts: [SwiftDeclaration]) -> Set<String> {
        var names: Set<String> = []
        var (seen, waiting): (Set<Identity>, [SwiftDeclaration]) = ([], parts)
        while let part = waiting.popLast() {
            names.formUnion(part.members.filter { $0.kind == .property && !$0.isStatic }.map(\.name))
            for name in part.inherited {
                let identity = Self.identity(of: name, in: part.file, hidden)
                guard protocols.contains(identity), seen.insert(identity).inserted else { continue }
                waiting += declarations.filter { $0.identity == identity }.map(\.1)
            }
        }
        return names
    }

    private func explain(_ member: SwiftMember, _ declared: Set<String>) -> String? {
        if let requirement = EndpointRequirement.all.first(where: { $0.name == member.name }) {
            return explain(member, named: requirement, isDeclared: declared.contains(member.name))
        }
        guard member.kind == .property, !member.isStatic, !member.isPrivate, !member.name.hasPrefix("_"),
            let type = member.type.map(resolve),
            let requirement = EndpointRequirement.meant(byPropertyNamed: member.name, of: type),
            !declared.contains(requirement.name)
        else { return nil }
        return requirement.explanation(ofProperty: member.name)
    }

    private func explain(_ member: SwiftMember, named requirement: EndpointRequirement, isDeclared: Bool) -> String? {
        if member.kind == .function {
            return member.isWithoutParameters && !isDeclared ? requirement.explanation(ofKind: "a function") : nil
        }
        if member.isStatic { return isDeclared ? nil : requirement.explanation(ofKind: "static") }
        if member.modifiers.contains("lazy") { return requirement.explanation(ofKind: "lazy") }
        guard let type = member.type.map(resolve), !requirement.types.contains(type) else { return nil }
        // Values of these types may be valid for the requirement.
        if type.contains(".Endpoint") || type.hasPrefix("some ") || convertible.contains(type) { return nil }
        return requirement.explanation(ofType: type)
    }

    /// Replaces type aliases that the sources declare.
    private func resolve(_ type: String) -> String {
        let isOptional = type.hasSuffix("?") && !type.hasPrefix("[")
        let name = isOptional ? String(type.dropLast()) : type
        guard let aliased = aliases[name], aliased != name else { return type }
        return aliased + (isOptional ? "?" : "")
    }
}
