import Foundation
import KerberosTesting
import TestSupport
import Testing

@testable import Kerberos

/// The version of libkrb5 that `ksso --version` prints.
struct LibraryVersionTests {
    @Test func `the version of the loaded libkrb5 is determined`() throws {
        let version = try #require(LibraryVersion.loaded())
        #expect(version.wholeMatch(of: /1\.\d+(\.\d+)?(-\S+)?/) != nil, "\(version)")
    }

    @Test(arguments: [
        ("7f00-7f01 r--p 00000000 fe:00 12  /usr/lib/x86_64-linux-gnu/libkrb5.so.3.3\n", "/usr/lib/x86_64-linux-gnu/libkrb5.so.3.3"),
        ("7f00-7f01 r--p 00000000 fe:00 12  /opt/my krb5/libkrb5.so.3\n", "/opt/my krb5/libkrb5.so.3"),
        ("7f00-7f01 r--p 00000000 fe:00 12  /usr/lib/libkrb5support.so.0\n7f02-7f03 rw-p 00000000 00:00 0  [heap]\n", nil),
    ]) func `libkrb5 is found among the mapped files, and libkrb5support is not`(maps: String, path: String?) {
        #expect(LibraryVersion.path(in: maps) == path)
    }

    @Test(arguments: [
        ("\u{0}KRB5_BRAND: krb5-1.20.1-final 1.20.1 20221111\u{0}more", "1.20.1"),
        ("KRB5_BRAND: krb5-1.22-final 1.22 20250805", "1.22"),
        ("KRB5_BRAND: (unreleased)\u{0}", nil), ("KRB5_BRAND: ", nil), ("another library", nil),
    ]) func `a file without a version is not an error`(contents: String, version: String?) {
        #expect(LibraryVersion.version(in: Data(contents.utf8)) == version)
    }

    @Test(arguments: [
        ("Package: libkrb5-3\nStatus: install ok installed\nVersion: 1.20.1-6ubuntu2.6\n\nPackage: zlib1g\nVersion: 1:1.3\n", "1.20.1"),
        ("Package: libkrb5-30\nVersion: 9.9-1\n\nPackage: libkrb5-3\nArchitecture: amd64\nVersion: 1:1.21\n", "1.21"),
        ("Package: libkrb5-3\nStatus: deinstall ok config-files\n\nPackage: libkrb5support0\nVersion: 1.20\n", nil), ("", nil),
    ]) func `the version of the package replaces one that is not in the file`(database: String, version: String?) {
        var latin1 = Data("Package: a\nMaintainer: J".utf8)
        latin1.append(0xF6)
        latin1.append(Data("rg\nVersion: 2\n\n".utf8))
        for start in [Data(), latin1] { #expect(LibraryVersion.packageVersion(in: start + Data(database.utf8)) == version) }
    }
}
