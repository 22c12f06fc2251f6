package import HTTPCache

extension StoreError: StoredContentFailure {}
