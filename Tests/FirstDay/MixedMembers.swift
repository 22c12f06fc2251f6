import Holdfast

// Members of different types need an object: .object(["a": 1, "b": text]). See Values.swift.
private func task(text: String) -> HTTPTask {
    .json(["filter": ["a": 1, "b": text]])  // says: '(any Encodable)?'
}
