public import HTTPTypes

extension CachePolicy {
    /// Returns the response's fields that are stored, in wire order.
    ///
    /// These fields are removed:
    ///
    /// - `Connection` and the fields that it lists;
    /// - the other hop-by-hop and proxy fields in RFC 9111 §3.1;
    /// - in a shared cache, the fields that `private="…"` lists (§5.2.2.7);
    /// - the cookies that an operator leaves out (``PolicyOverrides/withoutCookies``).
    ///
    /// Fields that a qualified `no-cache="…"` lists stay: they are served after the response was
    /// validated (§5.2.2.4), and ``servedFields(of:age:isValidated:)`` omits them until then.
    /// `Connection` cannot remove fields on which caching depends (`Cache-Control`,
    /// ``targetedFields``, `Vary`, `Date`, …).
    public func storedFields(of response: HTTPResponse) -> HTTPFields {
        storable(response.headerFields, directives(of: response.headerFields))
    }

    func storable(_ fields: HTTPFields, _ directives: ResponseDirectives) -> HTTPFields {
        // Use sets, so that the time stays proportional to the length of the lists even if a peer
        // sends a thousand names.
        let nominated = Set(FieldNameList.nominated(in: fields))
        var withheld: Set<String> = []
        if kind == .shared, case .fields(let names) = directives.isPrivate { withheld = Set(names) }
        let overrides = overrides(of: fields)
        var result = HTTPFields()
        result.reserveCapacity(fields.count)
        for field in fields {
            let name = field.name.canonicalName
            if FieldRules.isHopByHop(name) || (!withheld.isEmpty && withheld.contains(name)) { continue }
            if !nominated.isEmpty, nominated.contains(name), !isProtected(name) { continue }
            if overrides?.leavesOut(field) == true { continue }
            if leavesOutCredentials, Redaction.isSecretField(name) { continue }
            result.append(field)
        }
        return result
    }

    func isProtected(_ canonicalName: String) -> Bool {
        FieldRules.isProtected(canonicalName) || targetedFields.contains(canonicalName)
    }

    /// Returns the request's fields that `Vary` lists, as they are stored with the response. RFC
    /// 9111 §4.1
    ///
    /// They are normalized in the same way as for ``matchesVariant(_:_:)``, with one line per name
    /// and sorted by name, so that equal selections are equal values.
    public func selectingFields(of request: HTTPRequest, for response: HTTPResponse) -> HTTPFields {
        selectingFields(
            of: request,
            vary: FieldNameList(.vary, in: response.headerFields),
            ignoring: overrides(of: response.headerFields)?.ignoredFields ?? []
        )
    }

    /// Returns the names of the fields that select a response: the names in `Vary` that no rule
    /// ignores, in lower case and sorted. RFC 9111 §4.1
    ///
    /// - Returns: `nil` if no request matches, because `Vary` is `*` or malformed.
    package func selectingNames(of fields: HTTPFields) -> [String]? {
        let vary = FieldNameList(.vary, in: fields)
        guard !vary.hasWildcard, !vary.hasMalformedMember else { return nil }
        let ignored = overrides(of: fields)?.ignoredFields ?? []
        return withImplied(vary.names).filter { !ignored.contains($0) }.sorted()
    }

    /// Returns the request's fields with these names, in the form of ``selectingFields(of:for:)``.
    ///
    /// - Parameter names: in lower case and sorted: see ``selectingNames(of:)``.
    package func selectingFields(of request: HTTPRequest, named names: [String]) -> HTTPFields {
        var vary = FieldNameList(.vary, in: [:])
        vary.names = names
        return selectingFields(of: request, vary: vary, ignoring: [])
    }

    func selectingFields(of request: HTTPRequest, vary: FieldNameList, ignoring ignored: Set<String>) -> HTTPFields {
        var result = HTTPFields()
        for text in withImplied(vary.names).sorted() where !ignored.contains(text) {
            guard let name = HTTPField.Name(text),
                let value = SelectingField.normalized(text, in: request.headerFields)
            else { continue }
            result.append(HTTPField(name: name, value: value))
        }
        return result
    }

    /// Returns the fields to serve from the store: the stored fields, with `Age` replaced by the
    /// current age in whole seconds. RFC 9111 §4, §5.1
    ///
    /// A response that arrived without `Date` gets the time of receipt, as RFC 9110 §6.6.1 requires
    /// of a recipient with a clock.
    ///
    /// The fields that a qualified `no-cache="…"` lists are omitted until the response was
    /// validated for this request (RFC 9111 §5.2.2.4). If one of these fields gives the others
    /// their meaning (`Content-Type`, `Content-Encoding`, `Vary`, …), the whole response needs
    /// validation instead, so an incomplete description is never sent.
    ///
    /// - Parameter isValidated: whether the origin has just confirmed the response for this
    ///   request.
    public func servedFields(
        of stored: StoredResponseHead,
        age: CurrentAge,
        isValidated: Bool = false
    ) -> HTTPFields {
        guard stored.fields.count < FieldRules.maximumCount else { return stored.fields }
        // Copy the fields once and change the copy in place: this runs for every hit.
        var result = stored.fields
        let ageField = HTTPField(name: .age, value: "\(DeltaSeconds(seconds: age.milliseconds / 1000).seconds)")
        var ageIndex: Int?
        var hasDate = false
        var hasSecondAge = false
        var mayWithhold = false
        for index in result.indices {
            let name = result[index].name.canonicalName
            switch name.utf8.count {
            case 13 where name == "cache-control":
                mayWithhold = mayWithhold || result[index].withUnsafeBytesOfValue { $0.mayQualifyNoCache }
            case 3 where name == "age":
                hasSecondAge = ageIndex != nil
                ageIndex = ageIndex ?? index
            case 4 where name == "date":
                hasDate = true
            default:
                if !targetedFields.isEmpty, ResponseDirectives.isListed(name, targetedFields) { mayWithhold = true }
            }
        }
        if hasSecondAge {
            result.removeAll { $0.name == .age }
            ageIndex = nil
        }
        if let ageIndex {
            result[ageIndex] = ageField
        } else {
            result.append(ageField)
        }
        if !hasDate { result.append(HTTPField(name: .date, value: HTTPDate.format(stored.responseTime))) }
        // By setting the expiry, the caller has overridden `no-cache`.
        if mayWithhold, !isValidated, stored.explicitExpiry == nil,
            case .fields(let names) = directives(of: stored.fields).noCache
        {
            let withheld = Set(names)
            result.removeAll {
                withheld.contains($0.name.canonicalName) && !FieldRules.isProtected($0.name.canonicalName)
            }
        }
        return result
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// Whether the line may contain `no-cache=`. The check is for `he=`, because no other
    /// directive's name ends with `he`.
    ///
    /// The check saves parsing for nearly every hit. It reads only every third byte, because a byte
    /// that is none of the three characters rules out every position that overlaps it.
    fileprivate var mayQualifyNoCache: Bool {
        var index = 2
        while index < count {
            switch self[index] {
            case UInt8(ascii: "="):
                if isNoCacheEnd(before: index) { return true }
            case UInt8(ascii: "e"), UInt8(ascii: "E"):
                if isNoCacheEnd(before: index + 1) { return true }
            case UInt8(ascii: "h"), UInt8(ascii: "H"):
                if isNoCacheEnd(before: index + 2) { return true }
            default:
                break
            }
            index += 3
        }
        // Check the last one or two bytes, which the loop may have skipped.
        return count >= 3 && (isNoCacheEnd(before: count - 1) || isNoCacheEnd(before: count - 2))
    }

    private func isNoCacheEnd(before index: Int) -> Bool {
        index >= 2 && index < count && self[index] == UInt8(ascii: "=")
            && self[index - 1].asciiLowercased == UInt8(ascii: "e")
            && self[index - 2].asciiLowercased == UInt8(ascii: "h")
    }
}
