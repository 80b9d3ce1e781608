/// A key that a profile may have: where it stands, what its value is, and what becomes of it here.
public struct ProfileKey: Sendable, Hashable {
    /// Where a key stands.
    public enum Place: Sendable, Hashable {
        /// Around the payloads, in the file that a device management sends.
        case envelope
        /// In the payload itself.
        case payload
        /// In the payload's `ExtensionData`.
        case extensionData
    }

    /// What type a key's value has.
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
        /// A list of texts.
        case strings = "an array of strings"
        /// Lists of texts by name.
        case stringsByName = "a dictionary of arrays of strings"
        /// Texts by name.
        case stringByName = "a dictionary of strings"
        /// A list.
        case array = "an array"
        /// Values by key.
        case dictionary = "a dictionary"
        /// Whatever it is, it is not looked at.
        case any = "any value"

        /// The type in words, with its article.
        public var description: String { rawValue }
    }

    /// What becomes of a key in this version.
    public enum State: Sendable, Hashable {
        /// It is acted on.
        case used
        /// It means nothing on Linux; the text says why.
        case notApplicable(String)
    }

    /// The key as it is written.
    public let name: String
    /// Where it stands.
    public let place: Place
    /// What type its value has.
    public let type: ValueType
    /// What becomes of it.
    public let state: State
    /// The value that counts when the key is not there, where the format documents one.
    public let defaultValue: ProfileValue?
    /// Whether a payload must have it.
    public let isRequired: Bool
    /// Whether the format's owner advises against it since some version.
    public let isDeprecated: Bool

    init(
        _ name: String,
        _ place: Place,
        _ type: ValueType,
        _ state: State,
        default defaultValue: ProfileValue? = nil,
        isRequired: Bool = false,
        isDeprecated: Bool = false
    ) {
        self.name = name
        self.place = place
        self.type = type
        self.state = state
        self.defaultValue = defaultValue
        self.isRequired = isRequired
        self.isDeprecated = isDeprecated
    }

    /// Whether a fault in this key makes the file unusable.
    public var isActedOn: Bool { state == .used }

    /// Every key that is known.
    public static let all: [ProfileKey] = envelope + payload + extensionData

    /// The known key of a name at a place.
    public static func named(_ name: String, in place: Place) -> ProfileKey? {
        all.first { $0.place == place && $0.name == name }
    }
}
