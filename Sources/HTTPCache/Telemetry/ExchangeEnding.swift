/// The ways an exchange can end, named as in the metric `holdfast_exchanges_total`.
package enum ExchangeEnding: Int, CaseIterable, Sendable {
    case hit, staleHit, validated, fetched, collapsed, bypass, refused, failed

    /// The value of the label `outcome`.
    package var label: String { self == .staleHit ? "stale-hit" : "\(self)" }
}
