#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

extension [UInt8] {
    /// Overwrites the bytes with zeros, for keys are among them and freed memory is not cleared.
    ///
    /// In place where nobody else has the array. Otherwise it has no effect: the other owner needs the bytes.
    mutating func wipe() { wipe(indices) }

    /// Overwrites a part.
    mutating func wipe(_ range: Range<Int>) {
        unsafe withUnsafeMutableBytes { bytes in
            guard let start = bytes.baseAddress, !range.isEmpty else { return }
            unsafe explicit_bzero(start.advanced(by: range.lowerBound), range.count)
        }
    }
}
