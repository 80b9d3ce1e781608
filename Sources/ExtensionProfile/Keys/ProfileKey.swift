internal import SignOnPolicy

/// A key that a profile may have: its place, the type and check of its value, and what it sets.
///
/// The check of a profile, the report and the configuration are derived from this declaration. A test compares <doc:Keys> with it.
public struct ProfileKey: Sendable {
    /// The place of a key.
    public enum Place: Sendable, Hashable {
        /// Around the payloads, in the file that a device management system sends.
        case envelope
        /// In the payload.
        case payload
        /// In the payload's `ExtensionData`.
        case extensionData
    }

    /// The type of a key's value.
    public enum ValueType: String, Sendable, Hashable, CustomStringConvertible {
        /// Text.
        case string = "a string"
        /// A whole number.
        case integer = "an integer"
        /// A number, with a fraction or without.
        case number = "a number"
        /// True or false.
        case boolean = "a boolean (true or false)"
        /// Bytes.
        case data = "data"
        /// A list of strings.
        case strings = "an array of strings"
        /// Lists of strings by name.
        case stringListsByName = "a dictionary of arrays of strings"
        /// Strings by name.
        case stringsByName = "a dictionary of strings"
        /// A list.
        case array = "an array"
        /// Values by key.
        case dictionary = "a dictionary"
        /// Any type; the value is not checked.
        case any = "any value"

        /// The type in words, with its article.
        public var description: String { rawValue }
    }

    /// Whether this version uses a key.
    public enum State: Sendable, Hashable {
        /// The key has an effect.
        case used
        /// The key has no effect on Linux, for the given reason.
        case notApplicable(String)
    }

    /// The key's name as it is written in a profile.
    public let name: String
    /// The key's place.
    public let place: Place
    /// The type of the key's value.
    public let type: ValueType
    /// Whether this version uses the key.
    public let state: State
    /// The documented value if the key is missing; nil if there is none.
    public let defaultValue: ProfileValue?
    /// Whether a payload must have it.
    public let isRequired: Bool
    /// Whether Apple has deprecated the key.
    public let isDeprecated: Bool

    /// The check of the value, made after that of its type.
    let check: ValueCheck
    /// How the value becomes part of the configuration; nil if the key sets no property: it is not used, or it only identifies the payload.
    let setting: KeySetting?

    /// Creates a key that is used.
    init(
        _ name: String,
        _ place: Place,
        _ type: ValueType,
        default defaultValue: ProfileValue? = nil,
        isRequired: Bool = false,
        isDeprecated: Bool = false,
        check: ValueCheck = .typeOnly,
        sets setting: KeySetting? = nil
    ) {
        self.name = name
        self.place = place
        self.type = type
        state = .used
        self.defaultValue = defaultValue
        self.isRequired = isRequired
        self.isDeprecated = isDeprecated
        self.check = check
        self.setting = setting
    }

    /// Creates a key that has no effect on Linux.
    init(
        _ name: String,
        _ place: Place,
        _ type: ValueType,
        unused reason: String,
        default defaultValue: ProfileValue? = nil,
        isDeprecated: Bool = false
    ) {
        self.name = name
        self.place = place
        self.type = type
        state = .notApplicable(reason)
        self.defaultValue = defaultValue
        isRequired = false
        self.isDeprecated = isDeprecated
        check = .typeOnly
        setting = nil
    }

    /// Whether the key has an effect, so that a fault in it makes the file unusable.
    public var isUsed: Bool { state == .used }

    /// All known keys.
    public static let all: [ProfileKey] = envelope + payload + extensionData

    /// Returns the known key with a name in a place.
    public static func named(_ name: String, in place: Place) -> ProfileKey? {
        all.first { $0.place == place && $0.name == name }
    }
}

/// How the value of a key becomes part of the configuration.
struct KeySetting: Sendable {
    /// A property of the configuration.
    typealias Property<Value> = any WritableKeyPath<ExtensionConfiguration, Value> & Sendable

    /// Sets the property, if the value has the key's type.
    let apply: @Sendable (ProfileValue, inout ExtensionConfiguration) -> Void

    init(_ apply: @escaping @Sendable (ProfileValue, inout ExtensionConfiguration) -> Void) { self.apply = apply }

    static func text(_ property: Property<String?>) -> KeySetting {
        KeySetting { $1[keyPath: property] = $0.string }
    }

    static func integer(_ property: Property<Int?>) -> KeySetting {
        KeySetting { $1[keyPath: property] = $0.integer }
    }

    static func flag(_ property: Property<Bool>) -> KeySetting {
        KeySetting { value, configuration in if let flag = value.boolean { configuration[keyPath: property] = flag } }
    }

    static func seconds(_ property: Property<Duration?>) -> KeySetting {
        KeySetting { $1[keyPath: property] = $0.integer.map { .seconds($0) } }
    }

    static func hosts(_ property: Property<[HostRule]>) -> KeySetting {
        KeySetting { $1[keyPath: property] = ($0.strings ?? []).hostRules }
    }
}
