import HTTPCacheSemantics
import HoldfastConfiguration
import NIOCore

/// The line of a hot-table hit, for hits that differ only in ``Values``. ``AccessLogFormat`` writes
/// the whole line once. After that, only these values are written.
final class AccessLogTemplate {
    /// The parts of a line that differ between hits.
    struct Values {
        var client: GatewayClient?
        var time = Timestamp(milliseconds: 0)
        var duration: TimeAmount
        var ordinal: ExchangeRecord.Ordinal?
    }

    /// The positions of the values in a line that was just written, as indices into the buffer.
    struct Offsets {
        var client = 0..<0
        var tlsVersion = 0..<0
        var scheme = 0..<0
        var time = 0..<0
        var durations = 0..<0
        var connection = 0..<0
    }

    private enum Part { case client, tlsVersion, scheme, time, durations, connection }

    /// The number of the settings that the line follows.
    let version: Int
    private let settings: AccessLog.Settings
    /// A whole line, and the positions of the values in it, in order.
    private let line: ByteBuffer
    private let parts: [(range: Range<Int>, part: Part)]

    /// - Parameters:
    ///   - entry: the entry of such a request, with any values.
    ///   - format: writes the entry.
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
        // Only JSON lines have these values.
        if settings.format == .json { parts += [(offsets.tlsVersion, .tlsVersion), (offsets.scheme, .scheme)] }
        // The order depends on the format.
        self.parts = parts.sorted { $0.range.lowerBound < $1.range.lowerBound }
    }

    /// Appends the line of another such request.
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
