import CacheRules

/// The settings of the gateway's health and metrics.
extension TopSetting {
    static let health = [
        healthPath("health.path", \.health.path),
        healthPath("health.live", \.health.live),
        healthPath("health.ready", \.health.ready),
    ]

    static let metrics = [
        TopSetting(
            "metrics.listen",
            .orOff(.text),
            read: { (value, configuration) throws(Refusal) in
                configuration.metrics.listen = value.isOff ? nil : try listen(value)
            },
            written: { $0.metrics.listen ?? "off" }
        ),
        TopSetting(
            "metrics.public",
            .flag,
            read: { (value, configuration) throws(Refusal) in configuration.metrics.isPublic = try value.flag() },
            written: { "\($0.metrics.isPublic)" }
        ),
        TopSetting(
            "metrics.token",
            .text,
            read: { (value, configuration) throws(Refusal) in
                configuration.metrics.token = try value.text("the path of a file that holds the token")
            },
            written: \.metrics.token
        ),
        TopSetting(
            "metrics.tls",
            tlsShape,
            read: { (value, configuration) throws(Refusal) in configuration.metrics.tls = try metricsTLS(value) },
            written: { $0.metrics.tls?.text }
        ),
    ]

    private static func healthPath(
        _ name: String,
        _ place: any WritableKeyPath<Configuration, String?> & Sendable
    ) -> TopSetting {
        TopSetting(
            name,
            .orOff(.text),
            read: { (value, configuration) throws(Refusal) in
                configuration[keyPath: place] = value.isOff ? nil : try path(value)
            },
            written: { $0[keyPath: place] ?? "off" }
        )
    }

    private static let tlsShape = Shape.mapping(TLSReader.members.filter { $0.name != "alpn" })

    private static func metricsTLS(_ value: FileValue) throws(Refusal) -> Configuration.TLS {
        for entry in try value.entries("TLS settings such as 'certificates'") where entry.key == "alpn" {
            throw Refusal("'alpn' has no effect: metrics are served over HTTP/1.1 only. Remove it.", line: entry.line)
        }
        return try TLSReader.settings(value)
    }
}
