import HTTPCacheSemantics
import HoldfastConfiguration
import NIOCore

/// The line of hits of the hot table, for as long as they differ only in ``Values``.
/// ``AccessLogFormat`` writes it once, and from then on only these values anew.
final class AccessLogTemplate {
    /// The part of a line that differs from one hit to the next.
    struct Values {
        var client: GatewayClient?
        var time: Timestamp
        var duration: TimeAmount
        var ordinal: ExchangeRecord.Ordinal?
    }

    /// Where the values stand in a line that was just written, as the buffer's indices.
    struct Offsets {
        var client = 0..<0
        var tlsVersion = 0..<0
        var scheme = 0..<0
        var time = 0..<0
        var durations = 0..<0
        var connection = 0..<0
    }

    private enum Part { case client, tlsVersion, scheme, time, durations, connection }

    /// The settings that the line follows, by their number in the log.
    let version: Int
    private let settings: AccessLog.Settings
    /// A whole line, and where the values stand in it, in order.
    private let line: ByteBuffer
    private let parts: [(range: Range<Int>, part: Part)]

    /// - Parameters:
    ///   - entry: one such request, with any values.
    ///   - format: writes it.
    init(_ entry: AccessLogEntry, _ settings: AccessLog.Settings, version: Int, _ format: inout AccessLogFormat) {
        var line = ByteBuffer()
        format.write(entry, settings, to: &line)
        self.line = line
        self.settings = settings
        self.version = version
        let offsets = format.offsets
        var parts: [(range: Range<Int>, part: Part)] = [
            (offsets.client, .client), (offsets.time, .time), (offsets.durations, .durations),
            (offsets.connection, .connection),
        ]
        // Only this format has them.
        if settings.format == .json { parts += [(offsets.tlsVersion, .tlsVersion), (offsets.scheme, .scheme)] }
        // Their order differs from format to format.
        self.parts = parts.sorted { $0.range.lowerBound < $1.range.lowerBound }
    }

    /// Appends the line of one such request.
    func write(_ values: Values, _ format: inout AccessLogFormat, to bytes: inout ByteBuffer) {
        line.withUnsafeReadableBytes { line in
            var end = 0
            for (range, part) in parts {
                bytes.writeBytes(UnsafeRawBufferPointer(rebasing: line[end..<range.lowerBound]))
                switch part {
                case .client: format.writeClient(values.client?.address, settings, to: &bytes)
                case .tlsVersion: format.writeTLSVersion(values.client?.tlsVersion, to: &bytes)
                case .scheme: format.writeScheme(values.client?.scheme, to: &bytes)
                case .time: format.writeTime(values.time, settings, to: &bytes)
                case .durations: format.writeDurations(values.duration, values.duration, settings, to: &bytes)
                case .connection:
                    format.writeConnection(values.ordinal?.connection, values.ordinal?.request, settings, to: &bytes)
                }
                end = range.upperBound
            }
            bytes.writeBytes(UnsafeRawBufferPointer(rebasing: line[end...]))
        }
    }
}
