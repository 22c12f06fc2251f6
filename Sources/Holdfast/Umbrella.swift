@_exported public import CacheRules
// A service needs only `import Holdfast`, which re-exports the modules whose types occur in its
// public signatures.
@_exported public import HTTPCache
@_exported public import HTTPCacheSemantics
@_exported public import HTTPClientTransport
@_exported public import HTTPTypes
@_exported public import HoldfastContent
@_exported public import Logging
@_exported public import OfflineStore

// Content is a buffer of this type. The rest of its module is not part of the API.
@_exported public import struct NIOCore.ByteBuffer
