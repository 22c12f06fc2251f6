import Holdfast
import HoldfastTesting

/// Random JSON values, and the positions in them.
struct JSONTrees {
    var random: SeededRandom

    /// Names with every character that has a meaning in a path or in JSON.
    private static let names = [
        "a", "b", "id", "0", "12", "007", "", ".", "a.b", "[0]", "[", "]", "\\", "\\.", "ü", "\"", "é\n",
    ]

    mutating func value(depth: Int) -> AnyJSON {
        switch Int.random(in: 0..<(depth > 0 ? 12 : 7), using: &random) {
        case 0: .null
        case 1: .boolean(Bool.random(using: &random))
        case 2: .integer(Int64(bitPattern: random.next()))
        case 3: .unsigned(random.next() | 1 << 63)
        case 4: .number(Double(Int64(bitPattern: random.next()) >> 20) + 0.5)
        case 5, 6: .string(name())
        case 7, 8, 9:
            .object(
                Dictionary(
                    (0..<Int.random(in: 0..<5, using: &random)).map { _ in (name(), value(depth: depth - 1)) },
                    uniquingKeysWith: { $1 }
                )
            )
        default: .array((0..<Int.random(in: 0..<5, using: &random)).map { _ in value(depth: depth - 1) })
        }
    }

    mutating func name() -> String { Self.names.randomElement(using: &random) ?? "" }

    mutating func path() -> ValuePath {
        ValuePath(
            (0..<Int.random(in: 0..<5, using: &random)).map { _ in
                Bool.random(using: &random) ? .name(name()) : .index(Int.random(in: 0..<4, using: &random))
            }
        )
    }

    /// Every position in a value, with its content.
    static func places(in value: AnyJSON, at path: ValuePath = ValuePath()) -> [(ValuePath, AnyJSON)] {
        let below: [(ValuePath, AnyJSON)] =
            switch value {
            case .object(let members):
                members.flatMap { places(in: $1, at: path.appending(ValuePath([.name($0)]))) }
            case .array(let elements):
                elements.enumerated().flatMap { places(in: $1, at: path.appending(ValuePath([.index($0)]))) }
            default: []
            }
        return [(path, value)] + below
    }
}
