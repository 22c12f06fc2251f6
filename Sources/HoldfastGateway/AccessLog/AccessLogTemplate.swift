import HTTPCacheSemantics
import NIOCore

/// The line of hits of the hot table, for as long as only client, time and duration differ from one
/// to the next. ``AccessLogFormat`` writes it once, and from then on only these three anew.
final class AccessLogTemplate {
    /// Where the values stand in a line that was just written, as the buffer's indices.
    struct Places {
        var client = 0..<0
        var time = 0..<0
        var duration = 0..<0
    }

    private enum Value { case client, time, duration }

    /// The settings that the line follows, by their number in the log.
    let version: Int
    private let settings: AccessLog.Settings
    /// A whole line, and where the values stand in it, in order.
    private let line: ByteBuffer
    private let values: [(place: Range<Int>, value: Value)]

    /// - Parameters:
    ///   - entry: one such request; its client, time and duration do not matter.
    ///   - format: writes it.
    init(_ entry: AccessLogEntry, _ settings: AccessLog.Settings, version: Int, _ format: inout AccessLogFormat) {
        var line = ByteBuffer()
        format.write(entry, settings, to: &line)
        self.line = line
        self.settings = settings
        self.version = version
        let places = format.places
        // Their order differs from format to format.
        values = [(places.client, .client), (places.time, .time), (places.duration, .duration)]
            .sorted { $0.0.lowerBound < $1.0.lowerBound }
    }

    /// Appends the line of one such request.
    func write(
        client: String?,
        time: Timestamp,
        duration: TimeAmount,
        _ format: inout AccessLogFormat,
        to bytes: inout ByteBuffer
    ) {
        line.withUnsafeReadableBytes { line in
            var end = 0
            for (place, value) in values {
                bytes.writeBytes(UnsafeRawBufferPointer(rebasing: line[end..<place.lowerBound]))
                switch value {
                case .client: format.writeClient(client, settings, to: &bytes)
                case .time: format.writeTime(time, settings, to: &bytes)
                case .duration: format.writeDuration(duration, settings, to: &bytes)
                }
                end = place.upperBound
            }
            bytes.writeBytes(UnsafeRawBufferPointer(rebasing: line[end...]))
        }
    }
}
