/// A target without its secrets, and the query pieces that were removed.
package struct WithheldTarget: Sendable {
    /// The target that the key contains and that is displayed.
    package var target: TargetURI
    /// The removed pieces, in order and as received.
    package var pieces: [[UInt8]]
    /// Whether a server may find more than the apparent parameter in one of the pieces
    /// (`key=x;lang=de`). If so, the rest of the piece also affects the response.
    package var isAmbiguous: Bool

    /// The decoded names of the removed pieces, for people. If a piece is ambiguous, the result is
    /// only a placeholder.
    package var names: [String] {
        isAmbiguous
            ? [Redaction.placeholder]
            : pieces.map { String(decoding: QueryPiece(bytes: $0[...]).name, as: UTF8.self) }
    }

    /// The removed values, both as received and decoded.
    package var values: [[UInt8]] {
        pieces.flatMap { piece -> [[UInt8]] in
            let value = piece.drop { $0 != UInt8(ascii: "=") }.dropFirst()
            return [Array(value), QueryPiece.decoded(value)]
        }
    }
}

extension TargetURI {
    /// Returns the target without the parameters with these names, whatever their values.
    ///
    /// This is stricter than ``ignoring(_:)``, because the removed values must stay hidden: a piece
    /// is removed completely if any server may find one of the parameters in it (`x=1;key=secret`,
    /// `x=1%26key=secret`). A caller that removes these pieces from the target must add them to the
    /// key in another way, as a credential.
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
    /// Returns whether a server may find a parameter with one of these names in the piece.
    fileprivate func mayHold(_ names: ParameterNames) -> Bool {
        var decoded = bytes
        // Check the piece as received and decoded once and twice, because some servers decode
        // twice.
        for _ in 0...2 {
            let parts = decoded.split(whereSeparator: { "&;?#".utf8.contains($0) })
            if parts.contains(where: { names.contains(QueryPiece(bytes: $0).name) }) { return true }
            decoded = Self.decoded(decoded)[...]
        }
        return false
    }
}
