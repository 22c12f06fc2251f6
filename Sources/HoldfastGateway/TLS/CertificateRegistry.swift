import HTTPCache
import HTTPCacheSemantics
import HoldfastConfiguration
import HoldfastMetrics
import Logging
import Synchronization
import TLSCertificates

/// The certificates of all of a gateway's listeners.
final class CertificateRegistry: MetricsCollector {
    private let listeners = Mutex<[ListenerTLS]>([])
    private let clock: any WallClock
    private let logger: Logger

    /// - Parameter clock: the clock that the dates of reloaded certificates are compared with.
    init(clock: any WallClock, logger: Logger) { (self.clock, self.logger) = (clock, logger) }

    /// Whether no listener has TLS.
    var isEmpty: Bool { listeners.withLock { $0.isEmpty } }

    /// Reads the files of a listener.
    ///
    /// - Throws: ``CertificateRefusal``
    func open(_ settings: Configuration.TLS) throws(CertificateRefusal) -> ListenerTLS {
        let listener = try ListenerTLS(settings)
        listeners.withLock { $0.append(listener) }
        return listener
    }

    /// Reloads files, and logs the results.
    func reload(_ selection: CertificateSelection) {
        // Two listeners may use the same files.
        var logged: Set<String> = []
        let now = clock.now().milliseconds / 1000
        for reading in listeners.withLock({ $0 }).flatMap({ $0.reload(selection, at: now) }) {
            guard logged.insert("\(reading.certificate ?? "") \(reading.file)").inserted else { continue }
            reading.log(to: logger)
        }
    }

    /// Why files could not be used when they were last read, a sentence each.
    var rejectedFiles: [String] {
        // Two listeners may use the same files.
        Set(listeners.withLock { $0 }.flatMap(\.refusals).map(\.description)).sorted()
    }

    // MARK: Metrics

    func families() -> [MetricFamily] {
        var series: [String: (expiry: Int64, isCurrent: Bool)] = [:]
        for state in listeners.withLock({ $0 }).flatMap(\.state) {
            // If two listeners use the same files, the worse state counts.
            let other = series[state.name]
            series[state.name] = (
                min(state.expiry, other?.expiry ?? .max), state.isCurrent && other?.isCurrent ?? true
            )
        }
        let sorted = series.sorted { $0.key < $1.key }
        return [
            MetricFamily(
                MetricDescription(
                    "holdfast_tls_certificate_expiry_timestamp_seconds",
                    .gauge,
                    "Expiry of the certificate that clients get, in seconds since 1970."
                ),
                sorted.map { MetricSeries([.init("certificate", $0.key)], .integer($0.value.expiry)) }
            ),
            MetricFamily(
                MetricDescription(
                    "holdfast_tls_certificate_last_reload_successful",
                    .gauge,
                    "1 if the certificate's files were usable when they were last read, else 0."
                ),
                sorted.map { MetricSeries([.init("certificate", $0.key)], .integer($0.value.isCurrent ? 1 : 0)) }
            ),
        ]
    }
}

extension ListenFailure {
    /// Whether the listener's certificate or key cannot be used.
    package var isOfCertificate: Bool { cause is CertificateRefusal }
}
