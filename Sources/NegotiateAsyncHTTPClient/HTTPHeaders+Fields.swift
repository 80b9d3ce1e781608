import HTTPTypes
import NIOHTTP1

extension HTTPHeaders {
    /// The same fields in the seam's type. A field that it can't hold is left out.
    var fields: HTTPFields {
        var fields = HTTPFields()
        for (name, value) in self {
            guard let name = HTTPField.Name(name), HTTPField.isValidValue(value) else { continue }
            fields.append(HTTPField(name: name, value: value))
        }
        return fields
    }

    /// Puts fields in the place of those with the same names.
    mutating func replace(with fields: HTTPFields) {
        for field in fields { remove(name: field.name.rawName) }
        for field in fields { add(name: field.name.rawName, value: field.value) }
    }
}
