import Foundation
import Holdfast
import Testing

/// One result, chained handlers, and processing steps.
@Suite(.timeLimit(.minutes(20))) struct ResultChainTests {
    struct User: Decodable, Equatable, Sendable { var id: Int, name: String }
    typealias Loaded = Result<Data, HoldfastError>

    private func loaded(_ json: String) -> Loaded { .success(Data(json.utf8)) }
    private let failed = Loaded.failure(HoldfastError(code: .timeout, message: "Late."))

    @Test func handlersAreChainedAndOneOfThemIsCalled() {
        var calls: [String] = []
        loaded("{}").onSuccess { calls.append("success \($0.count)") }.onFailure { calls.append("failure \($0.code)") }
        failed.onSuccess { calls.append("success \($0.count)") }.onFailure { calls.append("failure \($0.code)") }
        #expect(calls == ["success 2", "failure timeout"])
    }

    @Test func stepsLeadFromBytesToObjectsAndModels() throws {
        let one = loaded(#"{"id":1,"name":"a"}"#)
        #expect(try one.step(.dictionary).get() == ["id": 1, "name": "a"])
        #expect(try one.step(.model(User.self)).get() == User(id: 1, name: "a"))
        #expect(try one.step(.dictionary).step(.model(User.self)).get() == User(id: 1, name: "a"))
        #expect(try one.step(.value).step { $0["name"] }.step { $0.text }.get() == "a")
        let many = loaded(#"[{"id":1,"name":"a"},{"id":2,"name":"b"}]"#)
        #expect(try many.step(.dictionaries).get().map { $0["id"] } == [1, 2])
        #expect(try many.step(.models(User.self)).get().map(\.id) == [1, 2])
        #expect(try many.step(.dictionaries).step(.models(User.self)).get().map(\.name) == ["a", "b"])
        #expect(try many.step(ResultStep.dictionaries.then(.models(User.self))).get().count == 2)
    }

    @Test func customStepHasAName() throws {
        let users = loaded(#"{"users":[{"id":1,"name":"a"}]}"#).step(.dictionary).step(.users).step(.models(User.self))
        #expect(try users.get() == [User(id: 1, name: "a")])
        #expect(loaded(#"{"users":1}"#).step(.dictionary).step(.users).failure?.code == .dataFormat)
    }

    @Test func rootModelIsValidatedInAStep() throws {
        func validated(_ json: String) -> Result<User?, HoldfastError> {
            loaded(json).step(.model(RootModel<User>.self)).validate()
        }
        #expect(try validated(#"{"code":0,"data":{"id":1,"name":"a"}}"#).get() == User(id: 1, name: "a"))
        #expect(try validated(#"{"code":0,"data":null}"#).get() == nil)
        #expect(validated(#"{"code":5,"msg":"no"}"#).failure?.envelope?.code == 5)
    }

    @Test func stepReturningNilIsADataFormatFailureWithTheObject() {
        let data = Data(#"{"id":1}"#.utf8)
        let fromBytes = Loaded.success(data).step { _ in Int?.none }.failure
        #expect(
            fromBytes?.code == .dataFormat && fromBytes?.body == Array(data) && fromBytes?.rejected as? Data == data
        )
        let fromObject = Loaded.success(data).step(.dictionary).step { $0["name"]?.text }.failure
        #expect(fromObject?.code == .dataFormat && fromObject?.rejected as? [String: AnyJSON] == ["id": 1])
        #expect(loaded("[]").step(.dictionary).failure?.code == .dataFormat)
        #expect(loaded("[{}, 1]").step(.dictionaries).failure?.code == .dataFormat)
        #expect(loaded("{}").step(.dictionaries).failure?.code == .dataFormat)
    }

    @Test func incompleteModelFailsAndNamesTheMissingPart() {
        let error = loaded(#"[{"id":1,"name":"a"},{"id":2}]"#).step(.models(User.self)).failure
        #expect(error?.code == .decodingFailed && error?.codingPath == "[1].name" && error?.body?.isEmpty == false)
        let object = loaded(#"{"id":2}"#).step(.dictionary).step(.model(User.self)).failure
        #expect(object?.code == .decodingFailed && object?.rejected as? [String: AnyJSON] == ["id": 2])
    }

    @Test func errorOfAStepIsKeptAndSkipsLaterSteps() {
        struct Oddity: Error {}
        #expect(loaded("{}").step { _ -> Int? in throw Oddity() }.failure?.cause is Oddity)
        let own = HoldfastError(code: .offlineMiss, message: "x")
        #expect(loaded("{}").step { _ -> Int? in throw own }.failure?.code == .offlineMiss)
        #expect(loaded("{}").step { _ -> Int? in throw CancellationError() }.failure?.code == .cancelled)
        #expect(
            failed.step { _ -> Int? in
                Issue.record("A step was taken after a failure."); return 1
            }.failure?.code == .timeout
        )
    }
}

extension ResultStep where Input == [String: AnyJSON], Output == [AnyJSON] {
    fileprivate static var users: Self { ResultStep { $0["users"]?.elements } }
}

extension Result {
    fileprivate var failure: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}
