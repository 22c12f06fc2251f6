// A program that runs a gateway needs only `import HoldfastGateway`, which re-exports the modules
// whose types occur in its public signatures.
@_exported public import GatewayRouting
@_exported public import HTTPWire
@_exported public import OriginConnections
@_exported public import TLSCertificates
