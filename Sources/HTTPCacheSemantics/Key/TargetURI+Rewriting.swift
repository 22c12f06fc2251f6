extension TargetURI {
    /// The target without the parameters of these names, and with the others in the order of their
    /// names.
    ///
    /// Parameters are what stands between `&`. The bytes of those that stay do not change, nor does
    /// the order of those with one name; names are ordered by their decoded bytes. Where nothing is
    /// left, the `?` goes too. A piece with a `;` or `?` in it stays, because another server may
    /// find another parameter behind it; see ``ignoring(_:)`` for a stricter rule. Doing it again
    /// changes nothing.
    ///
    /// - Parameters:
    ///   - dropped: names of parameters to take out.
    ///   - sorts: puts the others in order.
    public func rewritten(dropping dropped: ParameterNames = ParameterNames(), sorting sorts: Bool = false) -> TargetURI
    {
        guard query != nil, !dropped.isEmpty || sorts else { return self }
        return changed { pieces in
            if !dropped.isEmpty {
                pieces.removeAll { !$0.mayHoldSeparator && dropped.contains($0.name) }
            }
            guard sorts, pieces.count > 1 else { return }
            // Names are decoded once; equal ones keep their order.
            pieces = pieces.map { (name: $0.name, piece: $0) }.enumerated()
                .sorted { left, right in
                    if left.element.name == right.element.name { return left.offset < right.offset }
                    return left.element.name.lexicographicallyPrecedes(right.element.name)
                }
                .map(\.element.piece)
        }
    }

    /// The target as it is keyed where parameters of these names make no difference to the answer:
    /// without them. It is not what is sent.
    ///
    /// A piece in which some server may read more than one parameter (`session=1;callback=x`,
    /// `session=1%26callback=x`) makes a difference, whatever it is called: otherwise a client
    /// could have the origin read a parameter that is not in the key, and the answer given to
    /// everybody.
    public func ignoring(_ ignored: ParameterNames) -> TargetURI {
        guard query != nil, !ignored.isEmpty else { return self }
        return changed { pieces in pieces.removeAll { ignored.contains($0.name) && !$0.isAmbiguous } }
    }

    private func changed(_ change: (inout [QueryPiece]) -> Void) -> TargetURI {
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
    /// As some servers separate parameters: the rest of the piece is another one then, which nobody
    /// asked to be dropped.
    fileprivate var mayHoldSeparator: Bool { bytes.contains { $0 == UInt8(ascii: ";") || $0 == UInt8(ascii: "?") } }
}

extension TargetURI {
    /// The decoded names of the parameters that ``rewritten(dropping:sorting:)`` takes out, in
    /// their order; for people.
    public func droppedNames(_ dropped: ParameterNames) -> [String] {
        names { !$0.mayHoldSeparator && dropped.contains($0.name) }
    }

    /// The decoded names of the parameters that ``ignoring(_:)`` leaves out, in their order; for
    /// people.
    public func ignoredNames(_ ignored: ParameterNames) -> [String] {
        names { ignored.contains($0.name) && !$0.isAmbiguous }
    }

    /// Whether some server may read a parameter of one of these names in the query: a piece in
    /// which some read more than one may hold any.
    package func mayHold(_ names: ParameterNames) -> Bool {
        guard let query else { return false }
        return QueryPiece.split(query).contains { names.contains($0.name) || $0.isAmbiguous }
    }

    private func names(_ isOne: (QueryPiece) -> Bool) -> [String] {
        guard let query else { return [] }
        return QueryPiece.split(query).filter(isOne).map { String(decoding: $0.name, as: UTF8.self) }
    }
}
