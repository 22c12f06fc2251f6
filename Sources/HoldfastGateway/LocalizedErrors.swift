#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

// Texts for people. Without them, `localizedDescription` would state only the type and a number.

extension OriginTransport.TrustFailure: LocalizedError {
    /// The description.
    public var errorDescription: String? { description }
}

extension OriginTransport.FileFailure: LocalizedError {
    /// The description.
    public var errorDescription: String? { description }
}

extension ListenAddress.Refusal: LocalizedError {
    /// The description.
    public var errorDescription: String? { description }
}

extension ListenFailure: LocalizedError {
    /// The description.
    public var errorDescription: String? { description }
}

extension GatewayListener.Refusal: LocalizedError {
    /// The description.
    public var errorDescription: String? { description }
}

extension InheritedSocket.Refusal: LocalizedError {
    /// The description.
    public var errorDescription: String? { description }
}

extension GatewayRoutes.Refusal: LocalizedError {
    /// The description.
    public var errorDescription: String? { description }
}

extension GatewayRoute.Refusal: LocalizedError {
    /// The description.
    public var errorDescription: String? { description }
}

extension GatewayOrigin.Refusal: LocalizedError {
    /// The description.
    public var errorDescription: String? { description }
}

extension GatewayConfiguration.Refusal: LocalizedError {
    /// The description.
    public var errorDescription: String? { description }
}
