/// Values by bytes that texts begin with. All that belong to a text are found with one search and a
/// short walk.
package struct PrefixTable<Value: Sendable>: Sendable {
    private struct Row: Sendable {
        var prefix: [UInt8]
        var value: Value
        /// The longest other prefix that this one begins with; -1: none.
        var parent: Int
    }

    /// In the order of their bytes.
    private let rows: [Row]

    package init(_ values: [[UInt8]: Value]) {
        var rows: [Row] = []
        rows.reserveCapacity(values.count)
        // Prefixes that the one before last begins with, shortest first.
        var open: [Int] = []
        for (prefix, value) in values.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
            while let last = open.last, !prefix.starts(with: rows[last].prefix) { open.removeLast() }
            rows.append(Row(prefix: prefix, value: value, parent: open.last ?? -1))
            open.append(rows.count - 1)
        }
        self.rows = rows
    }

    /// Calls `body` with the lengths and the values of all prefixes that a text begins with, the
    /// longest first.
    package func forEach(startOf text: [UInt8], _ body: (_ length: Int, Value) -> Void) {
        // The last row that is not after the text: whatever the text begins with, that row begins
        // with, too.
        var low = 0
        var high = rows.count
        while low < high {
            let half = (low + high) / 2
            if text.lexicographicallyPrecedes(rows[half].prefix) { high = half } else { low = half + 1 }
        }
        var index = low - 1
        // Rows between the text and its longest prefix share less and less with it.
        while index >= 0 {
            if text.starts(with: rows[index].prefix) { body(rows[index].prefix.count, rows[index].value) }
            index = rows[index].parent
        }
    }
}

extension PrefixTable {
    /// The same for prefixes of paths, which end where a segment ends: `/v1` is one of `/v1/a`, and
    /// not of `/v10`.
    ///
    /// - Parameter path: in ``PathNormalForm``, as the prefixes are (``PathPrefix/normalForm``).
    package func forEach(startOfPath path: [UInt8], _ body: (Value) -> Void) {
        forEach(startOf: path) { length, value in
            if length == path.count || path[length] == UInt8(ascii: "/") { body(value) }
        }
    }
}
