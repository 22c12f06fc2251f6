package import HTTPCache

/// The difference between the JSON content of two requests, as their outlines show it.
package struct ContentDifference: Sendable, Hashable {
    /// The difference of one member.
    package enum Change: String, Sendable, Hashable {
        case changed
        /// Only the refused request has it.
        case added
        /// Only the recorded request has it.
        case missing
    }

    /// The member's JSON Pointer; `nil` if no compared member differs.
    package let pointer: String?
    package let change: Change
    /// The number of values that differ.
    let count: Int

    /// - Parameters:
    ///   - asked: the content of the refused request.
    ///   - recorded: the content of the recorded request.
    package init(_ asked: JSONOutline, from recorded: JSONOutline) {
        let (mine, theirs) = (Places(asked), Places(recorded))
        let changed = asked.leaves.filter { theirs.digests[$0.pointer] != $0.digest }
        // A pointer that only one of the outlines has may be beyond a limit of the other.
        let differing = changed.filter { !recorded.isCut || theirs.digests[$0.pointer] != nil }
        let missing = asked.isCut ? [] : recorded.leaves.filter { mine.digests[$0.pointer] == nil }
        count = differing.count + missing.count
        if let first = differing.first {
            (pointer, change) = theirs.difference(at: first.pointer, otherwise: .added)
        } else if let first = missing.first {
            (pointer, change) = mine.difference(at: first.pointer, otherwise: .missing)
        } else {
            (pointer, change) = (nil, .changed)
        }
    }

    /// The places of an outline: those of its values, and of the lists and objects around them.
    private struct Places {
        private(set) var digests: [String: String] = [:]
        private var around: Set<String> = []

        init(_ outline: JSONOutline) {
            for leaf in outline.leaves {
                digests[leaf.pointer] = leaf.digest
                around.formUnion(Self.parents(of: leaf.pointer))
            }
        }

        /// The pointers of the lists and objects around a value, from the outermost.
        private static func parents(of pointer: String) -> [String] {
            pointer.utf8.indices.filter { pointer.utf8[$0] == UInt8(ascii: "/") }.map { String(pointer[..<$0]) }
        }

        /// Names the difference of a value that these places lack, or have otherwise.
        ///
        /// - Parameter otherwise: the change of a member that is not here at all. Then its
        ///   outermost list or object that is missing here is named.
        func difference(at pointer: String, otherwise: Change) -> (String?, Change) {
            if digests[pointer] != nil || around.contains(pointer) { return (pointer, .changed) }
            for parent in Self.parents(of: pointer) {
                if digests[parent] != nil { return (parent, .changed) }
                if !around.contains(parent) { return (parent, otherwise) }
            }
            return (pointer, otherwise)
        }
    }
}
