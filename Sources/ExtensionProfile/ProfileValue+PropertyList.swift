public import Foundation

extension ProfileValue {
    /// How deep values may be nested. A profile needs six levels.
    static let maximumDepth = 32

    /// Reads an XML or binary property list.
    ///
    /// Throws a ``ProfileError`` with code `malformed` that says in which line the file stops being one.
    public init(propertyList data: Data, source: String) throws(ProfileError) {
        if data.starts(with: Array("bplist".utf8)) {
            guard BinaryPropertyListOutline(data).isModest else {
                throw ProfileError(
                    .malformed,
                    source: source,
                    reason: "This binary property list is damaged, or its lists hold one another. Export the profile anew."
                )
            }
        }
        do {
            self = try PropertyListDecoder().decode(PropertyListValue.self, from: data).value
        } catch {
            let reason = "This is not a property list that a profile can be read from (\(Self.detail(error))). Export the profile anew."
            throw ProfileError(.malformed, source: source, reason: reason)
        }
    }

    /// The parser's own words; they stand in the error beneath, where there is one.
    private static func detail(_ error: any Error) -> String {
        guard case DecodingError.dataCorrupted(let context) = error else { return error.localizedDescription }
        let beneath = (context.underlyingError as? NSError)?.userInfo["NSDebugDescription"] as? String
        return beneath ?? context.debugDescription
    }
}

/// A value of any type, found by asking for one after the other. The decoder tells truth values from numbers; casts from `Any` do not.
private struct PropertyListValue: Decodable {
    let value: ProfileValue

    struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }

        init?(intValue: Int) { nil }
    }

    init(from decoder: any Decoder) throws {
        guard decoder.codingPath.count < ProfileValue.maximumDepth else {
            let context = DecodingError.Context(codingPath: [], debugDescription: "values are nested deeper than a profile needs")
            throw DecodingError.dataCorrupted(context)
        }
        if let container = try? decoder.container(keyedBy: Key.self) {
            var entries: [String: ProfileValue] = [:]
            for key in container.allKeys { entries[key.stringValue] = try container.decode(Self.self, forKey: key).value }
            value = .dictionary(entries)
        } else if var container = try? decoder.unkeyedContainer() {
            var elements: [ProfileValue] = []
            while !container.isAtEnd { elements.append(try container.decode(Self.self).value) }
            value = .array(elements)
        } else {
            value = try Self.scalar(decoder.singleValueContainer())
        }
    }

    /// Whole numbers are asked for before fractions: one that is written as a real without a fraction counts as an integer.
    private static func scalar(_ container: any SingleValueDecodingContainer) throws -> ProfileValue {
        if let text = try? container.decode(String.self) { return .string(text) }
        if let truth = try? container.decode(Bool.self) { return .boolean(truth) }
        if let data = try? container.decode(Data.self) { return .data(data) }
        if let date = try? container.decode(Date.self) { return .date(date) }
        if let number = try? container.decode(Int.self) { return .integer(number) }
        return .real(try container.decode(Double.self))
    }
}
