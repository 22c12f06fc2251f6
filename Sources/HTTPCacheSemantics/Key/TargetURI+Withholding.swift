/// A target without its secrets, and the pieces of the query that were taken out.
package struct WithheldTarget: Sendable {
    /// What is keyed and shown.
    package var target: TargetURI
    /// The pieces that were taken out, as they came and in their order.
    package var pieces: [[UInt8]]
    /// Some server may read more in one of them than the parameter that it is taken for
    /// (`key=x;lang=de`): so what else it holds makes a difference.
    package var isAmbiguous: Bool

    /// The decoded names of the pieces that were taken out; for people. Of one that may be read in
    /// several ways only that it was there.
    package var names: [String] {
        isAmbiguous
            ? [Redaction.placeholder]
            : pieces.map { String(decoding: QueryPiece(bytes: $0[...]).name, as: UTF8.self) }
    }

    /// The values that were taken out, as they came and decoded.
    package var values: [[UInt8]] {
        pieces.flatMap { piece -> [[UInt8]] in
            let value = piece.drop { $0 != UInt8(ascii: "=") }.dropFirst()
            return [Array(value), FormParameter.decoded(value)]
        }
    }
}

extension TargetURI {
    /// The target without the parameters of these names, whatever they hold.
    ///
    /// Stricter than ``ignoring(_:)``, because what is taken out must not be seen: a piece goes as
    /// a whole where any server may find one of the parameters in it (`x=1;key=secret`,
    /// `x=1%26key=secret`). Who keys the target without it has to key the pieces in another way, as
    /// a credential.
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
    /// Whether some server may find a parameter of one of these names in it.
    fileprivate func mayHold(_ names: ParameterNames) -> Bool {
        var decoded = bytes
        // Twice, because some decode what was decoded.
        for _ in 0...2 {
            let parts = decoded.split(whereSeparator: { "&;?#".utf8.contains($0) })
            if parts.contains(where: { names.contains(QueryPiece(bytes: $0).name) }) { return true }
            decoded = FormParameter.decoded(decoded)[...]
        }
        return false
    }
}
