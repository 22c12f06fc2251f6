/// An error in a GraphQL response. GraphQL §7.1.2
public struct GraphQLError: Sendable, Hashable, Decodable {
    /// A location in the document.
    public struct Location: Sendable, Hashable, Decodable {
        /// The line, starting at 1.
        public var line: Int
        /// The column, starting at 1.
        public var column: Int
    }

    /// The server's message; empty if there is none.
    public var message: String
    /// The field of the response that the error is about; `nil` if it is about the whole request.
    public var path: ValuePath?
    /// The locations in the document, often empty.
    public var locations: [Location]
    /// The server's additional data, in its own format.
    public var extensions: RequestParameters

    /// The value of `extensions.code`, which most servers use to distinguish errors:
    /// `UNAUTHENTICATED`, `PERSISTED_QUERY_NOT_FOUND`.
    public var code: String? {
        if case .string(let code)? = extensions["code"] { code } else { nil }
    }

    /// Creates an error.
    public init(
        message: String,
        path: ValuePath? = nil,
        locations: [Location] = [],
        extensions: RequestParameters = [:]
    ) {
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
            extensions: (try? container.decode(RequestParameters.self, forKey: .extensions)) ?? [:]
        )
    }
}

extension ValuePath {
    /// Creates a path from names and indexes; returns `nil` if a step is neither.
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
