/// One error of a GraphQL response. GraphQL §7.1.2
public struct GraphQLError: Sendable, Hashable, Decodable {
    /// A place in the document.
    public struct Location: Sendable, Hashable, Decodable {
        /// The line, from 1 on.
        public var line: Int
        /// The column, from 1 on.
        public var column: Int
    }

    /// The server's message; empty if there is none.
    public var message: String
    /// The field of the response that has the error; `nil` if the whole request has it.
    public var path: ValuePath?
    /// Places in the document, often none.
    public var locations: [Location]
    /// Further data of the server, in its own form.
    public var extensions: Parameters

    /// `extensions.code`, by which most servers distinguish errors: `UNAUTHENTICATED`,
    /// `PERSISTED_QUERY_NOT_FOUND`.
    public var code: String? {
        if case .string(let code)? = extensions["code"] { code } else { nil }
    }

    /// Creates an error.
    public init(message: String, path: ValuePath? = nil, locations: [Location] = [], extensions: Parameters = [:]) {
        self.message = message
        self.path = path
        self.locations = locations
        self.extensions = extensions
    }

    private enum CodingKeys: CodingKey {
        case message, path, locations, extensions
    }

    /// Decodes an error in any form. A malformed error is still an error.
    public init(from decoder: any Decoder) throws {
        guard let container = try? decoder.container(keyedBy: CodingKeys.self) else {
            self.init(message: (try? decoder.singleValueContainer().decode(String.self)) ?? "")
            return
        }
        let steps = try? container.decode([ParameterValue].self, forKey: .path)
        self.init(
            message: (try? container.decode(String.self, forKey: .message)) ?? "",
            path: steps.flatMap(ValuePath.init(graphQL:)),
            locations: (try? container.decode([Location].self, forKey: .locations)) ?? [],
            extensions: (try? container.decode(Parameters.self, forKey: .extensions)) ?? [:]
        )
    }
}

extension ValuePath {
    /// Creates a path of names and indexes; `nil` if there is anything else among them.
    fileprivate init?(graphQL steps: [ParameterValue]) {
        var path: [Step] = []
        for step in steps {
            switch step {
            case .string(let name): path.append(.name(name))
            case .integer(let index): path.append(.index(Int(index)))
            default: return nil
            }
        }
        self.init(path)
    }
}
