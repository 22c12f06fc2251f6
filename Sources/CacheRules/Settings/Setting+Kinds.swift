import HTTPCache
import HTTPTypes

/// Settings by the kind of their value.
extension Setting {
    typealias Path<Value> = any WritableKeyPath<RuleSettings, Value?> & Sendable
    typealias Applying<Value> = @Sendable (Value, inout ExchangeSettings) -> Void

    static func seconds(_ name: String, _ path: Path<Duration>, apply: @escaping Applying<Int64>) -> Setting {
        Setting(
            name,
            .response,
            path,
            shape: .duration,
            read: Readers.seconds,
            written: Quantity.written
        ) { duration, settings in
            apply(duration.components.seconds, &settings)
        }
    }

    static func budget(
        _ name: String,
        _ path: Path<RuleSettings.Budget>,
        apply: @escaping Applying<Int64?>
    ) -> Setting {
        Setting(
            name,
            .response,
            path,
            shape: Readers.budgetShape,
            read: Readers.budget,
            written: Writers.budget
        ) { budget, settings in
            switch budget {
            case .unlimited: apply(nil, &settings)
            case .limited(let duration): apply(duration.components.seconds, &settings)
            }
        }
    }

    static func size(_ name: String, _ path: Path<Int64>, apply: @escaping Applying<Int64>) -> Setting {
        Setting(
            name,
            .response,
            path,
            shape: .size,
            read: Readers.size,
            written: Quantity.written(bytes:),
            apply: apply
        )
    }

    static func flag(
        _ name: String,
        _ phase: Phase,
        _ path: Path<Bool>,
        worksWithBypass: Bool = false,
        apply: @escaping Applying<Bool>
    ) -> Setting {
        Setting(
            name,
            phase,
            path,
            worksWithBypass: worksWithBypass,
            shape: .flag,
            read: { value throws(Refusal) in try value.flag() },
            written: { "\($0)" },
            apply: apply
        )
    }

    static func texts(
        _ name: String,
        _ phase: Phase,
        _ path: Path<[String]>,
        of expected: String,
        worksWithBypass: Bool = false,
        apply: @escaping Applying<[String]>
    ) -> Setting {
        Setting(
            name,
            phase,
            path,
            worksWithBypass: worksWithBypass,
            shape: .list(.text),
            read: { value throws(Refusal) in try Readers.texts(value, expected) },
            written: Writers.list,
            apply: apply
        )
    }

    static func timeout(
        _ name: String,
        _ path: Path<RuleSettings.Switch<Duration>>,
        apply: @escaping Applying<ExchangeSettings.Override<Duration>>
    ) -> Setting {
        Setting(
            name,
            .request,
            path,
            worksWithBypass: true,
            shape: Readers.timeoutShape,
            read: Readers.timeout,
            written: { Writers.off($0, Quantity.written) }
        ) { apply(override($0), &$1) }
    }

    static func fieldsToSet(
        _ name: String,
        _ phase: Phase,
        _ path: Path<[HTTPField.Name: FieldValue]>,
        apply: @escaping Applying<HTTPFields>
    ) -> Setting {
        Setting(
            name,
            phase,
            path,
            worksWithBypass: true,
            shape: .fields,
            read: Readers.fields,
            written: Writers.fields,
            resolving: { fields, values, settings in
                var result = HTTPFields()
                for (name, source) in fields.sorted(by: { $0.key.canonicalName < $1.key.canonicalName }) {
                    if let value = values[source] { result[name] = value }
                }
                apply(result, &settings)
            }
        )
    }

    static func fieldsToRemove(
        _ name: String,
        _ phase: Phase,
        _ path: Path<[HTTPField.Name]>,
        apply: @escaping Applying<Set<HTTPField.Name>>
    ) -> Setting {
        Setting(
            name,
            phase,
            path,
            worksWithBypass: true,
            shape: .list(.text),
            read: Readers.fieldNames,
            written: { Writers.list($0.map(\.rawName)) }
        ) { apply(Set($0), &$1) }
    }

    static func override<Value>(_ value: RuleSettings.Switch<Value>) -> ExchangeSettings.Override<Value> {
        switch value {
        case .off: .off
        case .on(let value): .value(value)
        }
    }
}
