extension TargetURI {
    /// Returns the target without the parameters with these names, and optionally with the other
    /// parameters sorted by name.
    ///
    /// A parameter is a piece between two `&` signs. The remaining parameters keep their bytes, and
    /// parameters with the same name keep their order. Sorting uses the decoded bytes of the names.
    /// If no parameters are left, the `?` is removed too. A piece that contains `;` or `?` stays,
    /// because a server may find another parameter in it; see ``ignoring(_:)`` for a stricter rule.
    /// A second call has no effect.
    ///
    /// - Parameters:
    ///   - dropped: the names of the parameters to remove.
    ///   - sorts: whether the others are sorted.
    package func rewritten(dropping dropped: ParameterNames = ParameterNames(), sorting sorts: Bool = false)
        -> TargetURI
    {
        guard query != nil, !dropped.isEmpty || sorts else { return self }
        return changingPieces { pieces in
            if !dropped.isEmpty {
                pieces.removeAll { !$0.mayHoldSeparator && dropped.contains($0.name) }
            }
            guard sorts, pieces.count > 1 else { return }
            // Decode each name once. Equal names keep their order.
            pieces = pieces.map { (name: $0.name, piece: $0) }.enumerated()
                .sorted { left, right in
                    if left.element.name == right.element.name { return left.offset < right.offset }
                    return left.element.name.lexicographicallyPrecedes(right.element.name)
                }
                .map(\.element.piece)
        }
    }

    /// Returns the target for the key, without parameters that do not affect the response. It is
    /// not the target that is sent.
    ///
    /// A piece in which a server may read more than one parameter (`session=1;callback=x`,
    /// `session=1%26callback=x`) stays, whatever its name. Otherwise a client could make the origin
    /// read a parameter that is not in the key, and its response would be served to every client.
    package func ignoring(_ ignored: ParameterNames) -> TargetURI {
        guard query != nil, !ignored.isEmpty else { return self }
        return changingPieces { pieces in pieces.removeAll { ignored.contains($0.name) && !$0.isAmbiguous } }
    }

    private func changingPieces(_ change: (inout [QueryPiece]) -> Void) -> TargetURI {
        guard let query else { return self }
        var pieces = QueryPiece.split(query)
        let count = pieces.count
        change(&pieces)
        let text = QueryPiece.joined(pieces)
        if text.utf8.elementsEqual(query.utf8) { return self }
        return TargetURI(
            scheme: scheme,
            host: host,
            port: port,
            path: path,
            query: text.isEmpty && pieces.count < count ? nil : text
        )
    }
}

extension QueryPiece {
    /// Whether some servers split this piece. For them, the rest of the piece is another parameter,
    /// which no rule drops.
    fileprivate var mayHoldSeparator: Bool { bytes.contains { $0 == UInt8(ascii: ";") || $0 == UInt8(ascii: "?") } }
}

extension TargetURI {
    /// Returns the decoded names of the parameters that ``rewritten(dropping:sorting:)`` removes,
    /// in order, for people.
    package func droppedNames(_ dropped: ParameterNames) -> [String] {
        names { !$0.mayHoldSeparator && dropped.contains($0.name) }
    }

    /// Returns the decoded names of the parameters that ``ignoring(_:)`` removes, in order, for
    /// people.
    package func ignoredNames(_ ignored: ParameterNames) -> [String] {
        names { ignored.contains($0.name) && !$0.isAmbiguous }
    }

    /// Returns whether a server may find a parameter with one of these names in the query. A piece
    /// in which some servers read several parameters may contain any name.
    package func mayHold(_ names: ParameterNames) -> Bool {
        guard let query else { return false }
        return QueryPiece.split(query).contains { names.contains($0.name) || $0.isAmbiguous }
    }

    private func names(where isOne: (QueryPiece) -> Bool) -> [String] {
        guard let query else { return [] }
        return QueryPiece.split(query).filter(isOne).map { String(decoding: $0.name, as: UTF8.self) }
    }
}

extension TargetURI {
    /// Returns the decoded values of the query parameters with a decoded name. A parameter without
    /// `=` has an empty value.
    package func parameterValues(named name: String) -> [String] {
        guard let query else { return [] }
        return QueryPiece.split(query).filter { $0.name.elementsEqual(name.utf8) }
            .map { String(decoding: $0.value, as: UTF8.self) }
    }
}
