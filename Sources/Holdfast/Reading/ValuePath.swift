/// Where in structured content a value stands: names of objects and indexes of arrays.
///
/// ```swift
/// let path: ValuePath = "data.moments[0].title"
/// ```
public struct ValuePath: Sendable, Hashable, ExpressibleByStringLiteral {
    /// One step down.
    public enum Step: Sendable, Hashable {
        /// Into the member of an object.
        case name(String)
        /// Into the element of an array, from 0 on.
        case index(Int)
    }

    /// From the top level down.
    public var steps: [Step]

    /// A path of steps; none is the top level.
    public init(_ steps: [Step] = []) {
        self.steps = steps
    }

    /// A path as text: names separated by dots, indexes as `[0]` or as a number of their own.
    public init(stringLiteral text: String) {
        steps = text.split(separator: ".").map { Int($0).map(Step.index) ?? .name(String($0)) }
    }
}
