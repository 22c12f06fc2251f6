import NIOCore
import Testing

@testable import RedisTier

/// Commands in flight, as a value.
@Suite(.timeLimit(.minutes(20))) struct CommandPipelineTests {
    private var pipeline = CommandPipeline<String>(stallLimit: .seconds(1))

    private func time(_ milliseconds: Int64) -> NIODeadline { .uptimeNanoseconds(0) + .milliseconds(milliseconds) }

    private mutating func received(_ milliseconds: Int64) -> String {
        switch pipeline.receive(at: time(milliseconds)) {
        case .complete(let name, let byteCount): "\(name) \(byteCount)"
        case .drop(let byteCount): "dropped \(byteCount)"
        case .reject: "rejected"
        }
    }

    @Test mutating func repliesCompleteInOrder() {
        pipeline.append("a", byteCount: 1, deadline: time(50))
        pipeline.append("b", byteCount: 2, deadline: time(50))
        #expect([received(1), received(2), received(3)] == ["a 1", "b 2", "rejected"])
    }

    @Test mutating func lateReplyIsDroppedInItsPlace() {
        pipeline.append("a", byteCount: 1, deadline: time(50))
        pipeline.append("b", byteCount: 2, deadline: time(90))
        let expiry = pipeline.expire(at: time(50))
        #expect(expiry.late == ["a"] && !expiry.isStalled && expiry.next == time(90))
        #expect(pipeline.expire(at: time(60)).late.isEmpty)
        #expect([received(70), received(71)] == ["dropped 1", "b 2"])
        #expect(pipeline.expire(at: time(100)).next == nil)
    }

    @Test mutating func deadlinesNeedNoOrder() {
        pipeline.append("block", byteCount: 1, deadline: time(5000))
        pipeline.append("get", byteCount: 1, deadline: time(50))
        let expiry = pipeline.expire(at: time(60))
        #expect(expiry.late == ["get"] && expiry.next == time(5000))
    }

    @Test mutating func lateHeadOfTheLineIsAStall() {
        pipeline.append("a", byteCount: 1, deadline: time(50))
        #expect(pipeline.expire(at: time(50)).next == time(1050))
        #expect(!pipeline.expire(at: time(1049)).isStalled)
        #expect(pipeline.expire(at: time(1050)).isStalled)
    }

    /// A slow server that keeps replying is not cut off.
    @Test mutating func repliesPutOffTheStall() {
        pipeline.append("a", byteCount: 1, deadline: time(50))
        pipeline.append("b", byteCount: 1, deadline: time(50))
        #expect(pipeline.expire(at: time(50)).late == ["a", "b"])
        #expect(received(1000) == "dropped 1")
        let expiry = pipeline.expire(at: time(1500))
        #expect(!expiry.isStalled && expiry.next == time(2000))
        #expect(pipeline.expire(at: time(2000)).isStalled)
    }

    @Test mutating func endFailsThoseThatWait() {
        for name in ["a", "b", "c"] { pipeline.append(name, byteCount: 5, deadline: time(name == "b" ? 50 : 90)) }
        _ = pipeline.expire(at: time(60))
        let ending = pipeline.end()
        #expect(ending.waiting == ["a", "c"] && ending.byteCount == 15 && ending.count == 3)
        #expect(pipeline.end().waiting.isEmpty && pipeline.count == 0)
    }

    @Test func onlyTheFirstSubmissionWakesTheLoop() throws {
        let list = SubmissionList()
        let submission = Submission(command: RedisCommand("PING"), byteCount: 14, deadline: .now()) { _ in }
        #expect(
            try [list.append(submission), list.append(submission), list.append(submission)] == [true, false, false]
        )
        #expect(list.take().count == 3)
        #expect(try list.append(submission))
        #expect(list.end(.connectionClosed).count == 1)
        #expect(throws: RedisTierError.connectionClosed) { try list.append(submission) }
    }
}
