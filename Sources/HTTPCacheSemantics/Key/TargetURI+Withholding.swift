/// A target without its secrets, and the query pieces that were removed.
package struct WithheldTarget: Sendable {
    /// The target that is put into the key and shown.
    package var target: TargetURI
    /// The removed pieces, as received and in their order.
    package var pieces: [[UInt8]]
    /// Whether a server may read more in one of the pieces than the parameter that it looks like
    /// (`key=x;lang=de`). Then the rest of the piece makes a difference too.
    package var isAmbiguous: Bool

    /// The decoded names of the removed pieces; for people. If a piece is ambiguous, only a
    /// placeholder shows that there was one.
    package var names: [String] {
        isAmbiguous
            ? [Redaction.placeholder]
            : pieces.map { String(decoding: QueryPiece(bytes: $0[...]).name, as: UTF8.self) }
    }

    /// The removed values, as received and decoded.
    package var values: [[UInt8]] {
        pieces.flatMap { piece -> [[UInt8]] in
            let value = piece.drop { $0 != UInt8(ascii: "=") }.dropFirst()
            return [Array(value), FormParameter.decoded(value)]
        }
    }
}

extension TargetURI {
    /// The target without the parameters of these names, whatever their values.
    ///
    /// Stricter than ``ignoring(_:)``, because the removed values must stay hidden: a piece is
    /// removed as a whole if any server may find one of the parameters in it (`x=1;key=secret`,
    /// `x=1%26key=secret`). A caller that leaves the pieces out of the target must put them into
    /// the key in another way, as a credential.
    package func withholding(_ names: ParameterNames) -> WithheldTarget {
        guard let query, !names.isEmpty else { return WithheldTarget(target: self, pieces: [], isAmbiguous: false) }
        var kept: [QueryPiece] = []
        var withheld: [QueryPiece] = []
        for piece in QueryPiece.split(query) {
            if piece.mayHold(names) { withheld.append(piece) } else { kept.append(piece) }
        }
        guard !withheld.isEmpty else { return WithheldTarget(target: self, pieces: [], isAmbiguous: false) }
        let target = TargetURI(
            scheme: scheme,
            host: host,
            port: port,
            path: path,
            query: kept.isEmpty ? nil : QueryPiece.joined(kept)
        )
        return WithheldTarget(
            target: target,
            pieces: withheld.map { Array($0.bytes) },
            isAmbiguous: withheld.contains(where: \.isAmbiguous)
        )
    }
}

extension QueryPiece {
    /// Whether a server may find a parameter of one of these names in the piece.
    fileprivate func mayHold(_ names: ParameterNames) -> Bool {
        var decoded = bytes
        // Twice more, because some servers decode twice.
        for _ in 0...2 {
            let parts = decoded.split(whereSeparator: { "&;?#".utf8.contains($0) })
            if parts.contains(where: { names.contains(QueryPiece(bytes: $0).name) }) { return true }
            decoded = FormParameter.decoded(decoded)[...]
        }
        return false
    }
}
