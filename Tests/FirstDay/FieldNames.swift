import Holdfast

// A literal of HTTPFields takes names only; 'headers' takes strings. See Values.swift.
private let fields: HTTPFields = ["x-app-platform": "iOS"]  // says: expected dictionary key type 'HTTPField.Name'
