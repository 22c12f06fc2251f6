/// Maps prefixes to values. One search and a short walk find all prefixes of a text.
package struct PrefixTable<Value: Sendable>: Sendable {
    private struct Row: Sendable {
        var prefix: [UInt8]
        var value: Value
        /// The index of the longest other prefix that this one begins with; -1 if there is none.
        var parent: Int
    }

    /// Sorted by their bytes.
    private let rows: [Row]

    package init(_ values: [[UInt8]: Value]) {
        var rows: [Row] = []
        rows.reserveCapacity(values.count)
        // The prefixes that the last row begins with, shortest first.
        var open: [Int] = []
        for (prefix, value) in values.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
            while let last = open.last, !prefix.starts(with: rows[last].prefix) { open.removeLast() }
            rows.append(Row(prefix: prefix, value: value, parent: open.last ?? -1))
            open.append(rows.count - 1)
        }
        self.rows = rows
    }

    /// Calls `body` with the length and the value of each prefix of a text, the longest first.
    package func forEach(startOf text: [UInt8], _ body: (_ length: Int, Value) -> Void) {
        // Finds the last row that is not after the text: it begins with every prefix of the text.
        var low = 0
        var high = rows.count
        while low < high {
            let half = (low + high) / 2
            if text.lexicographicallyPrecedes(rows[half].prefix) { high = half } else { low = half + 1 }
        }
        var index = low - 1
        // Rows between the text and its longest prefix share less and less of it.
        while index >= 0 {
            if text.starts(with: rows[index].prefix) { body(rows[index].prefix.count, rows[index].value) }
            index = rows[index].parent
        }
    }
}

extension PrefixTable {
    /// Does the same for prefixes of paths, which end at the end of a segment: `/v1` is one of
    /// `/v1/a`, not of `/v10`.
    ///
    /// - Parameter path: a path in ``PathNormalForm``, like the prefixes
    ///   (``PathPrefix/normalForm``).
    package func forEach(startOfPath path: [UInt8], _ body: (Value) -> Void) {
        forEach(startOf: path) { length, value in
            if length == path.count || path[length] == UInt8(ascii: "/") { body(value) }
        }
    }
}
