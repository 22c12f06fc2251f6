// `import Holdfast` alone is enough for a service: these are the modules whose types its public
// signatures name.
@_exported public import HTTPCache
@_exported public import HTTPCacheSemantics
@_exported public import HTTPClientTransport
@_exported public import HTTPTypes
@_exported public import HoldfastConfiguration
@_exported public import Logging
@_exported public import OfflineStore

// Contents are buffers of this one type; the rest of its module is no part of the API.
@_exported public import struct NIOCore.ByteBuffer
