import TestSupport

@testable import HoldfastControl

extension NotifySocket {
    var manager: ServiceManager { ServiceManager(environment: ["NOTIFY_SOCKET": path]) }
}
