import Foundation
import KerberosTesting

/// A KDC proxy ([MS-KKDCP]): Apache speaks HTTPS, gives back what it is sent, and has perl change that on its way out into the KDC's answer.
enum KDCProxy {
    /// Runs a closure, which gets the proxy's URL and its certificate, while it serves.
    static func with<Value>(on station: Workstation, _ body: (_ url: String, _ certificatePath: String) async throws -> Value) async throws
        -> Value
    {
        // Where Apache's own account can read it.
        let folder = FileManager.default.temporaryDirectory.appending(path: "kdc-proxy-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o755])
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try script.write(toFile: "\(folder)/pass-on", atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: "\(folder)/pass-on")
        let certificate = "\(station.directory)/proxy.pem"
        let key = "\(station.directory)/proxy.key"
        let words = ["-newkey", "rsa:2048", "-noenc", "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
        let made = try await station.run(["openssl", "req", "-x509"] + words + ["-keyout", key, "-out", certificate])
        guard made.exitStatus == 0 else { throw NoCertificate(result: made) }
        let directives = """
            LoadModule ssl_module /usr/lib/apache2/modules/mod_ssl.so
            LoadModule reflector_module /usr/lib/apache2/modules/mod_reflector.so
            LoadModule ext_filter_module /usr/lib/apache2/modules/mod_ext_filter.so
            SSLEngine on
            SSLCertificateFile "\(certificate)"
            SSLCertificateKeyFile "\(key)"
            SSLSessionCache none
            ExtFilterDefine kdc mode=output outtype=application/kerberos cmd="/usr/bin/perl \(folder)/pass-on \(station.realm.kdcPort)"
            <Location "/KdcProxy">
                SetHandler reflector
                SetOutputFilter kdc
            </Location>
            """
        return try await StockApache.with(directives, on: station) { try await body("https://localhost:\($0)/KdcProxy", certificate) }
    }

    private struct NoCertificate: Error { let result: CommandResult }

    /// Takes the message out of `SEQUENCE { [0] OCTET STRING, … }`, as it goes over TCP, and wraps what the KDC says in the same.
    private static let script = """
        use strict; use warnings; use IO::Socket::INET;
        binmode STDIN; binmode STDOUT; local $/; my $rest = <STDIN>;
        sub content {
            my ($bytes, $at) = ($_[0], 2);
            my $length = ord substr $bytes, 1, 1;
            if ($length > 127) { my $width = $length & 127; $at += $width; $length = oct "0x" . unpack "H*", substr $bytes, 2, $width }
            return substr $bytes, $at, $length;
        }
        sub element { pack("CCN", $_[0], 0x84, length $_[1]) . $_[1] }
        my $kdc = IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => $ARGV[0]) or exit 1;
        print $kdc content(content(content($rest))); $kdc->flush; $kdc->shutdown(1);
        print element(0x30, element(0xA0, element(0x04, scalar <$kdc>)));
        """
}
