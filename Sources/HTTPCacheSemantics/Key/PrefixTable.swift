/// Maps prefixes to values. One binary search and a short walk find all prefixes of a byte string.
package struct PrefixTable<Value: Sendable>: Sendable {
    private struct Row: Sendable {
        var prefix: [UInt8]
        var value: Value
        /// The index of the longest other prefix with which this prefix begins; -1 if there is
        /// none.
        var parent: Int
    }

    /// The rows, sorted by the bytes of their prefixes.
    private let rows: [Row]

    package init(_ values: [[UInt8]: Value]) {
        var rows: [Row] = []
        rows.reserveCapacity(values.count)
        // The prefixes with which the last row begins, shortest first.
        var open: [Int] = []
        for (prefix, value) in values.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
            while let last = open.last, !prefix.starts(with: rows[last].prefix) { open.removeLast() }
            rows.append(Row(prefix: prefix, value: value, parent: open.last ?? -1))
            open.append(rows.count - 1)
        }
        self.rows = rows
    }

    /// Calls `body` with the length and the value of each prefix of the bytes, longest first.
    package func forEach(startOf text: [UInt8], _ body: (_ length: Int, Value) -> Void) {
        // Find the last row that does not sort after the bytes. It begins with every stored prefix
        // of the bytes.
        var low = 0
        var high = rows.count
        while low < high {
            let half = (low + high) / 2
            if text.lexicographicallyPrecedes(rows[half].prefix) { high = half } else { low = half + 1 }
        }
        var index = low - 1
        // Walk up through shorter and shorter prefixes.
        while index >= 0 {
            if text.starts(with: rows[index].prefix) { body(rows[index].prefix.count, rows[index].value) }
            index = rows[index].parent
        }
    }
}

extension PrefixTable {
    /// Calls `body` with the value of each path prefix, which must end at the end of a segment:
    /// `/v1` is a prefix of `/v1/a`, but not of `/v10`.
    ///
    /// - Parameter path: a path in ``PathNormalForm``, like the prefixes
    ///   (``PathPrefix/normalForm``).
    package func forEach(startOfPath path: [UInt8], _ body: (Value) -> Void) {
        forEach(startOf: path) { length, value in
            if length == path.count || path[length] == UInt8(ascii: "/") { body(value) }
        }
    }
}
