/// A conversation with a server over HTTP/2, in raw frames, and the result that the RFC requires.
package struct HTTP2Case: Sendable, CustomStringConvertible {
    /// The first bytes of a conversation.
    package enum Opening: Sendable {
        /// Preface and SETTINGS with these entries. The frames of the case follow the server's
        /// SETTINGS and their acknowledgement.
        case settings([(UInt16, UInt32)])
        /// The case itself sends all.
        case none
    }

    package enum Step: Sendable {
        case send([UInt8])
        /// Bytes that depend on what the server has sent, such as its settings.
        case respond(@Sendable (Observation) -> [UInt8])
        /// Waits until the server has sent something.
        case await(@Sendable (Observation) -> Bool)
    }

    /// How Holdfast differs from the RFC today.
    package enum Defect: Sendable {
        case always(String)
        /// Only if events come in some order.
        case sometimes(String)
    }

    /// RFC and section, such as `9113 §5.1`.
    package var section: String
    /// A claim about the server.
    package var name: String
    package var opening = Opening.settings([])
    package var steps: [Step]
    package var expectation: Expectation
    /// The reason why the expectation holds although nginx and HAProxy both do otherwise.
    package var note: String?
    package var defect: Defect?

    package var description: String { "\(section): \(name)" }

    /// Whether a field block of the case goes beyond its HEADERS frame.
    package var continuesBlock: Bool {
        steps.contains { step in
            guard case .send(let bytes) = step else { return false }
            var reader = FrameReader()
            reader.append(bytes)
            while let frame = reader.next() {
                if frame.type == FrameType.headers, !frame.has(FrameFlag.endHeaders) { return true }
            }
            return false
        }
    }

    /// Whether a server may have responded before it sees that the request is malformed: it has got
    /// as much content as stated. RFC 9113 §8.1.1
    package var mayGetEarlyResponse: Bool { section == "9113 §8.1.1" && expectation.isMalformed }

    /// The bytes that the case sends in steps, without the opening.
    package var sentCount: Int {
        steps.reduce(0) { if case .send(let bytes) = $1 { $0 + bytes.count } else { $0 } }
    }
}

extension HTTP2Case.Step {
    /// Waits for bytes of a response's content.
    static func content(_ stream: UInt32, _ count: Int) -> Self {
        .await { $0.content[stream, default: 0] >= count || $0.isDecided(stream) }
    }

    /// Waits for the end of a response.
    static func end(_ stream: UInt32) -> Self { .await { $0.isDecided(stream) } }

    /// Waits for the head of a response.
    static func head(_ stream: UInt32) -> Self { .await { $0.statuses[stream] != nil || $0.isDecided(stream) } }

    /// Waits until so many SETTINGS are acknowledged, those of the opening included.
    static func settingsAcks(_ count: Int) -> Self { .await { $0.settingsAcks >= count } }
}

/// Collects the cases of a section.
struct CaseTable {
    private(set) var cases: [HTTP2Case] = []
    private let section: String

    init(_ section: String) { self.section = section }

    /// A case whose frames are sent at once.
    mutating func add(
        _ name: String,
        _ frames: [UInt8]...,
        opening: HTTP2Case.Opening = .settings([]),
        expect: Expectation,
        note: String? = nil,
        defect: HTTP2Case.Defect? = nil
    ) {
        add(name, [.send(frames.flatMap { $0 })], opening: opening, expect: expect, note: note, defect: defect)
    }

    /// A case that waits for the server in between.
    mutating func add(
        _ name: String,
        _ steps: [HTTP2Case.Step],
        opening: HTTP2Case.Opening = .settings([]),
        expect: Expectation,
        note: String? = nil,
        defect: HTTP2Case.Defect? = nil
    ) {
        cases.append(
            HTTP2Case(
                section: section,
                name: name,
                opening: opening,
                steps: steps,
                expectation: expect,
                note: note,
                defect: defect
            )
        )
    }
}

extension HTTP2Case.Defect: CustomStringConvertible {
    package var description: String {
        switch self {
        case .always(let text), .sometimes(let text): text
        }
    }

    package var isIntermittent: Bool { if case .sometimes = self { true } else { false } }
}

/// All cases.
package enum HTTP2Cases {
    package static let all: [HTTP2Case] =
        connectionCases() + frameCases() + streamCases() + frameTypeCases() + settingsCases() + flowControlCases()
        + messageCases() + fieldCases() + compressionCases() + ownCases()
}
