import HTTPCache

extension StoreError: StoredContentFailure {}
