internal import struct Foundation.Data
internal import struct Foundation.URL

/// Removes the tags from the header of a version 4 cache file. The tag is the KDC's clock offset, which older programs, and those with
/// `kdc_timesync = 0`, do not write.
package func dropHeaderTags(ofCacheAt path: String) throws {
    let url = URL(filePath: path)
    let bytes = try Data(contentsOf: url)
    guard bytes.starts(with: [5, 4]) else { return }
    let length = Int(bytes[2]) << 8 | Int(bytes[3])
    try (bytes.prefix(2) + [0, 0] + bytes.dropFirst(4 + length)).write(to: url)
}
