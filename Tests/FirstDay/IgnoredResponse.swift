import Foundation
import Holdfast

// See IgnoredRequest.swift.

private struct OtherTypes: Endpoint {
    let path = "/x"
    let acceptedStatuses: ClosedRange<Int>  // ignored: expects 'AcceptedStatuses'
    let valuePath: String  // ignored: expects 'ValuePath'
    let envelope: Envelope  // ignored: expects 'EnvelopeChoice'
    let emptyContent: Bool  // ignored: expects 'EmptyContent'
    let maximumBodyBytes: Int64  // ignored: expects 'Int' or 'Int?'
    let timeout: TimeInterval  // ignored: expects 'Duration' or 'Duration?'
    let retry = 3  // ignored: its type is 'Int'
    let redirects: Bool  // ignored: expects 'RedirectPolicy'
    let sampleResponse: Data  // ignored: expects 'SampleResponse' or 'SampleResponse?'
}

private struct OtherNames: Endpoint {
    let path = "/x"
    let acceptedStatus: AcceptedStatuses  // ignored: 'acceptedStatuses' of type
    let valuepath: ValuePath  // ignored: 'valuePath' of type
    let envelop: EnvelopeChoice  // ignored: 'envelope' of type
    let emptyContents: EmptyContent  // ignored: 'emptyContent' of type
    let maxBodyBytes: Int  // ignored: 'maximumBodyBytes' of type
    let timeOut: Duration  // ignored: 'timeout' of type
    let retries: Int  // ignored: 'retry' of type
    let followRedirects: Bool  // ignored: 'redirects' of type
    let sampleData: Data  // ignored: 'sampleResponse' of type
}

private protocol OwnAPI: Endpoint {}
extension OwnAPI {
    var timeout: Int { 3 }  // ignored: its type is 'Int'
}

private enum Computed: OwnAPI {
    case feed
    var path: String { "/x" }
    var acceptableStatusCodes: Range<Int> { 200..<300 }  // ignored: 'acceptedStatuses' of type
    var dataPath: ValuePath { "data" }  // ignored: 'valuePath' of type
    var envelope: Envelope { Envelope() }  // ignored: its type is 'Envelope'
    var emptyBody: EmptyContent { .missing }  // ignored: 'emptyContent' of type
    var maximumBodyBytes: UInt { 7 }  // ignored: its type is 'UInt'
    var retryPolicy: RetryPlan { .never }  // ignored: 'retry' of type
    var redirect: RedirectPolicy { .never }  // ignored: 'redirects' of type
    var sampleResponse: String { "{}" }  // ignored: its type is 'String'
}
