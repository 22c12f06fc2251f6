import SampleOrigin

/// The origin's gate, under a name that `HoldfastTesting.Gate` does not have.
typealias OriginGate = Gate
