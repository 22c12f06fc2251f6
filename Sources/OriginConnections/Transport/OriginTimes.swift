import EventLoops
import HoldfastConfiguration
import NIOCore

/// The time limits for connections to one server. See ``OriginTransport/Configuration``.
struct OriginTimes: Sendable, Hashable {
    /// The time to open a connection, including TLS.
    var connect: TimeAmount
    var send: TimeAmount
    var firstByte: TimeAmount
    var read: TimeAmount
    /// The time that a connection may be without a request.
    var idle: TimeAmount

    init(_ configuration: OriginTransport.Configuration) {
        connect = configuration.connectTimeout.timeAmount
        send = configuration.sendTimeout.timeAmount
        firstByte = configuration.firstByteTimeout.timeAmount
        read = configuration.readTimeout.timeAmount
        idle = configuration.idleTimeout.timeAmount
    }

    /// Applies the limits that a configuration sets.
    mutating func take(_ timeouts: Configuration.OriginTimeouts) {
        if let time = timeouts.connect { connect = time.timeAmount }
        if let time = timeouts.send { send = time.timeAmount }
        if let time = timeouts.firstByte { firstByte = time.timeAmount }
        if let time = timeouts.receive { read = time.timeAmount }
        if let time = timeouts.idle { idle = time.timeAmount }
    }
}
