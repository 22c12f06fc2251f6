// A service needs only `import Holdfast`, which re-exports what a service names.
@_exported public import CacheRules
@_exported public import HTTPClientTransport
@_exported public import HoldfastContent
@_exported public import OfflineStore

// Of these modules, a service needs a part: the types of its requests, its transports and its
// store. A custom store or an embedded engine also imports the modules themselves.
@_exported public import struct HTTPCache.BodyStream
@_exported public import struct HTTPCache.CacheRequest
@_exported public import struct HTTPCache.CacheResponse
@_exported public import struct HTTPCache.ContentCheck
@_exported public import struct HTTPCache.CookieRule
@_exported public import struct HTTPCache.EventStreamRule
@_exported public import struct HTTPCache.ExchangeError
@_exported public import struct HTTPCache.GoodDataGuard
@_exported public import struct HTTPCache.ListedValues
@_exported public import enum HTTPCache.OfflineMode
@_exported public import enum HTTPCache.RequestBody
@_exported public import struct HTTPCache.StoreChange
@_exported public import struct HTTPCache.SystemWallClock
@_exported public import protocol HTTPCache.Transport
@_exported public import struct HTTPCache.TransportError
@_exported public import struct HTTPCache.TransportRequest
@_exported public import struct HTTPCache.TransportResponse
@_exported public import protocol HTTPCache.WallClock
@_exported public import struct HTTPCacheSemantics.CacheOutcome
@_exported public import enum HTTPCacheSemantics.Expiry
@_exported public import enum HTTPCacheSemantics.StorageRefusal
@_exported public import struct HTTPCacheSemantics.StoreKey
@_exported public import struct HTTPCacheSemantics.TargetPrefix
@_exported public import struct HTTPCacheSemantics.TargetURI
@_exported public import struct HTTPCacheSemantics.Timestamp
@_exported public import struct HTTPTypes.HTTPField
@_exported public import struct HTTPTypes.HTTPFields
@_exported public import struct HTTPTypes.HTTPRequest
@_exported public import struct HTTPTypes.HTTPResponse
@_exported public import struct Logging.Logger
@_exported public import struct NIOCore.ByteBuffer
