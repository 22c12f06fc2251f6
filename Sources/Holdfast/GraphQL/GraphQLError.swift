/// One error of a GraphQL answer. GraphQL §7.1.2
public struct GraphQLError: Sendable, Hashable, Decodable {
    /// A place in the document.
    public struct Location: Sendable, Hashable, Decodable {
        /// From 1 on.
        public var line: Int
        /// From 1 on.
        public var column: Int
    }

    /// What the server says; empty where it says nothing.
    public var message: String
    /// The field of the answer that is concerned; `nil` where the request as a whole is.
    public var path: ValuePath?
    /// Places in the document; often none.
    public var locations: [Location]
    /// What the server adds; the shape is its own.
    public var extensions: Parameters

    /// `extensions.code`, by which most servers tell errors apart: `UNAUTHENTICATED`,
    /// `PERSISTED_QUERY_NOT_FOUND`.
    public var code: String? {
        if case .string(let code)? = extensions["code"] { code } else { nil }
    }

    /// An error.
    public init(message: String, path: ValuePath? = nil, locations: [Location] = [], extensions: Parameters = [:]) {
        self.message = message
        self.path = path
        self.locations = locations
        self.extensions = extensions
    }

    private enum CodingKeys: CodingKey {
        case message, path, locations, extensions
    }

    /// Takes what is there, in whatever shape: an error that is not written as it should be is an
    /// error all the same.
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
    /// Names and indexes; `nil` where there is anything else among them.
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
