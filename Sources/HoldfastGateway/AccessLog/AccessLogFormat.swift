import HTTPCacheSemantics
import HoldfastConfiguration
import NIOCore

/// Writes entries as lines of the access log. No text from a client can end a line, leave its
/// quotes, or make a line longer than ``lineLimit``.
struct AccessLogFormat {
    /// The maximum number of bytes in a line, including its end.
    static let lineLimit = 8192

    /// The maximum number of bytes in each part. All parts and member names together are shorter
    /// than ``AccessLogFormat/lineLimit``.
    enum Limit {
        static let path = 2048
        static let query = 1024
        static let long = 768
        static let short = 128
        static let word = 64
    }

    private var dates = LogDates()
    /// The positions of the values in the last written line; see ``AccessLogTemplate``.
    private(set) var offsets = AccessLogTemplate.Offsets()

    /// Appends an entry's line.
    mutating func write(_ entry: AccessLogEntry, _ settings: AccessLog.Settings, to bytes: inout ByteBuffer) {
        switch settings.format {
        case .combined: writeCombined(entry, settings, to: &bytes)
        case .json: writeJSON(entry, settings, to: &bytes)
        }
        bytes.writeInteger(UInt8(ascii: "\n"))
    }

    // MARK: Values that differ between lines

    mutating func writeClient(_ client: String?, _ settings: AccessLog.Settings, to bytes: inout ByteBuffer) {
        let start = bytes.writerIndex
        let text = LogClient.text(client, settings.client)
        switch settings.format {
        case .combined: bytes.writeWord(text, limit: Limit.word)
        case .json: bytes.writeMember("client.address", text, limit: Limit.word)
        }
        offsets.client = start..<bytes.writerIndex
    }

    /// Writes the TLS version, which only JSON lines contain.
    mutating func writeTLSVersion(_ version: String?, to bytes: inout ByteBuffer) {
        let start = bytes.writerIndex
        bytes.writeMember("tls.protocol.version", version, limit: Limit.word)
        offsets.tlsVersion = start..<bytes.writerIndex
    }

    /// Writes the scheme, which only JSON lines contain.
    mutating func writeScheme(_ scheme: String?, to bytes: inout ByteBuffer) {
        let start = bytes.writerIndex
        bytes.writeMember("url.scheme", scheme, limit: Limit.word)
        offsets.scheme = start..<bytes.writerIndex
    }

    mutating func writeTime(_ time: Timestamp, _ settings: AccessLog.Settings, to bytes: inout ByteBuffer) {
        let start = bytes.writerIndex
        switch settings.format {
        case .combined: dates.writeCombined(time, to: &bytes)
        case .json: dates.writeRFC3339(time, to: &bytes)
        }
        offsets.time = start..<bytes.writerIndex
    }

    mutating func writeDurations(
        _ duration: TimeAmount?,
        _ firstByte: TimeAmount?,
        _ settings: AccessLog.Settings,
        to bytes: inout ByteBuffer
    ) {
        let start = bytes.writerIndex
        switch settings.format {
        case .combined:
            bytes.writeSeconds(duration ?? .zero)
        case .json:
            bytes.writeMember("duration", duration)
            bytes.writeMember("duration.first_byte", firstByte)
        }
        offsets.durations = start..<bytes.writerIndex
    }

    mutating func writeConnection(
        _ number: Int64?,
        _ requests: Int64?,
        _ settings: AccessLog.Settings,
        to bytes: inout ByteBuffer
    ) {
        let start = bytes.writerIndex
        if settings.format == .json {
            bytes.writeMember("connection.id", number)
            bytes.writeMember("connection.requests", requests)
        }
        offsets.connection = start..<bytes.writerIndex
    }

    // MARK: Combined

    private mutating func writeCombined(
        _ entry: AccessLogEntry,
        _ settings: AccessLog.Settings,
        to bytes: inout ByteBuffer
    ) {
        let full = settings.query == .full
        writeClient(entry.client, settings, to: &bytes)
        // No user is written, because principals are not logged.
        bytes.writeStaticString(" - - [")
        writeTime(entry.time, settings, to: &bytes)
        bytes.writeStaticString("] \"")
        if let method = entry.method {
            bytes.writeWord(method, limit: Limit.word)
            bytes.writeInteger(UInt8(ascii: " "))
            bytes.writeTarget(entry.target ?? "*", (Limit.path, Limit.query), .hexadecimal, full)
            bytes.writeStaticString(" HTTP/")
            bytes.writeWord(entry.protocolVersion ?? "1.1", limit: Limit.word)
        } else {
            bytes.writeInteger(UInt8(ascii: "-"))
        }
        bytes.writeStaticString("\" ")
        // nginx logs 499 for a client that disconnected before it got a response.
        bytes.writeDecimal(Int64(entry.status ?? 499), digits: 3)
        bytes.writeInteger(UInt8(ascii: " "))
        bytes.writeDecimal(entry.responseSize ?? 0)
        bytes.writeStaticString(" \"")
        if let referer = entry.referer {
            bytes.writeReferer(referer, .hexadecimal, full)
        } else {
            bytes.writeInteger(UInt8(ascii: "-"))
        }
        bytes.writeStaticString("\" \"")
        bytes.writeLogText(entry.agent ?? "-", limit: Limit.long, .hexadecimal)
        bytes.writeStaticString("\" ")
        bytes.writeWord(entry.result?.rawValue, limit: Limit.word)
        bytes.writeInteger(UInt8(ascii: " "))
        writeDurations(entry.duration, entry.firstByte, settings, to: &bytes)
        bytes.writeInteger(UInt8(ascii: " "))
        bytes.writeWord(entry.route, limit: Limit.short)
        bytes.writeStaticString(" \"")
        bytes.writeLogText(entry.cacheStatus ?? "-", limit: Limit.long, .hexadecimal)
        bytes.writeInteger(UInt8(ascii: "\""))
        if let problem = entry.problem, entry.status != nil {
            bytes.writeStaticString(entry.isAborted ? " aborted=" : " error=")
            bytes.writeWord(problem, limit: Limit.word)
        }
        writeConnection(entry.connectionID, entry.connectionRequests, settings, to: &bytes)
    }

    // MARK: JSON

    private mutating func writeJSON(
        _ entry: AccessLogEntry,
        _ settings: AccessLog.Settings,
        to bytes: inout ByteBuffer
    ) {
        let full = settings.query == .full
        bytes.writeStaticString("{\"time\":\"")
        writeTime(entry.time, settings, to: &bytes)
        bytes.writeInteger(UInt8(ascii: "\""))
        writeClient(entry.client, settings, to: &bytes)
        bytes.writeMember("network.protocol.version", entry.protocolVersion, limit: Limit.word)
        writeTLSVersion(entry.tlsVersion, to: &bytes)
        bytes.writeMember("http.request.method", entry.method, limit: Limit.word)
        writeScheme(entry.scheme, to: &bytes)
        bytes.writeMember("server.address", entry.authority.map(LogClient.withoutUser), limit: Limit.short)
        if let target = entry.target { bytes.writeTargetMembers(target, full) }
        bytes.writeMember("http.request.body.size", entry.requestSize)
        bytes.writeMember("http.response.status_code", entry.status.map(Int64.init))
        bytes.writeMember("http.response.body.size", entry.responseSize)
        writeDurations(entry.duration, entry.firstByte, settings, to: &bytes)
        bytes.writeMember("http.route", entry.route, limit: Limit.short)
        bytes.writeMember("cache.result", entry.result?.rawValue, limit: Limit.word)
        bytes.writeMember("cache.status", entry.cacheStatus, limit: Limit.long)
        bytes.writeMember("cache.age", entry.age)
        bytes.writeMember("cache.ttl", entry.timeToLive)
        bytes.writeMember("cache.id", entry.cacheID, limit: Limit.short)
        bytes.writeMember("cache.stored", entry.isStored)
        bytes.writeMember("cache.not_stored", entry.notStored, limit: Limit.word)
        bytes.writeMember("origin", entry.origin, limit: Limit.short)
        bytes.writeMember("origin.server", entry.originServer, limit: Limit.short)
        bytes.writeMember("origin.status_code", entry.originStatus.map(Int64.init))
        bytes.writeMember("origin.duration", entry.originDuration)
        bytes.writeMember("origin.reused", entry.isOriginReused)
        bytes.writeMember("error.type", entry.problem, limit: Limit.word)
        if entry.isAborted { bytes.writeMember("aborted", true) }
        bytes.writeMember("request.id", entry.requestID, limit: Limit.short)
        bytes.writeMember("trace_id", entry.traceID, limit: Limit.word)
        bytes.writeMember("span_id", entry.spanID, limit: Limit.word)
        bytes.writeMember("user_agent.original", entry.agent, limit: Limit.long)
        if let referer = entry.referer {
            bytes.writeStaticString(",\"referer\":\"")
            bytes.writeReferer(referer, .json, full)
            bytes.writeInteger(UInt8(ascii: "\""))
        }
        writeConnection(entry.connectionID, entry.connectionRequests, settings, to: &bytes)
        bytes.writeInteger(UInt8(ascii: "}"))
    }
}

extension ByteBuffer {
    /// Writes a word between spaces, or `-` if there is none.
    fileprivate mutating func writeWord(_ text: String?, limit: Int) {
        writeLogText(text.flatMap { $0.isEmpty ? nil : $0 } ?? "-", limit: limit, .hexadecimal, plain: true)
    }

    private mutating func writeName(_ name: StaticString) {
        writeStaticString(",\"")
        writeStaticString(name)
        writeStaticString("\":")
    }

    fileprivate mutating func writeMember(_ name: StaticString, _ text: String?, limit: Int) {
        guard let text else { return }
        writeName(name)
        writeInteger(UInt8(ascii: "\""))
        writeLogText(text, limit: limit, .json)
        writeInteger(UInt8(ascii: "\""))
    }

    fileprivate mutating func writeMember(_ name: StaticString, _ number: Int64?) {
        guard let number else { return }
        writeName(name)
        writeDecimal(number)
    }

    fileprivate mutating func writeMember(_ name: StaticString, _ duration: TimeAmount?) {
        guard let duration else { return }
        writeName(name)
        writeSeconds(duration)
    }

    fileprivate mutating func writeMember(_ name: StaticString, _ flag: Bool?) {
        guard let flag else { return }
        writeName(name)
        if flag { writeStaticString("true") } else { writeStaticString("false") }
    }

    fileprivate mutating func writeTargetMembers(_ target: String, _ full: Bool) {
        let question = target.utf8.firstIndex(of: UInt8(ascii: "?"))
        writeStaticString(",\"url.path\":\"")
        let path = question.map { target[..<$0] } ?? target[...]
        writeLogText(path, limit: AccessLogFormat.Limit.path, .json)
        writeInteger(UInt8(ascii: "\""))
        guard let question else { return }
        writeStaticString(",\"url.query\":\"")
        let query = target[target.utf8.index(after: question)...]
        let limit = AccessLogFormat.Limit.query
        if full {
            writeLogText(query, limit: limit, .json)
        } else {
            writeLogText(Redaction.valuesHidden(in: query.utf8.prefix(limit + 1)), limit: limit, .json)
        }
        writeInteger(UInt8(ascii: "\""))
    }

    /// Writes a URL without user information. Query values are left out unless queries are logged.
    fileprivate mutating func writeReferer(_ text: String, _ escape: LogEscape, _ full: Bool) {
        let limit = AccessLogFormat.Limit.long
        let cut = limit / 2
        writeTarget(LogClient.withoutUser(text), (cut, cut), escape, full)
    }
}

/// The parts of a line that identify a client.
enum LogClient {
    /// Returns a client's address in the configured detail.
    static func text(_ address: String?, _ detail: Configuration.Log.Client) -> String? {
        guard let address else { return nil }
        return switch detail {
        case .full: address
        case .masked: AddressRange.masked(address)
        case .none: nil
        }
    }

    /// Returns a URL or authority without the user and password before `@`.
    static func withoutUser(_ text: String) -> String {
        let bytes = text.utf8
        let start = text.firstRange(of: "//")?.upperBound ?? text.startIndex
        let end = bytes[start...].firstIndex { "/?#".utf8.contains($0) } ?? text.endIndex
        guard let at = bytes[start..<end].lastIndex(of: UInt8(ascii: "@")) else { return text }
        return String(text[..<start]) + String(text[bytes.index(after: at)...])
    }
}
