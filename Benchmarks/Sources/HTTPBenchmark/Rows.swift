import BenchmarkSupport

/// The clients that are compared.
enum Rows {
    /// The reference for the others.
    static let reference = "curl --negotiate"
    /// The reference for rows that wait for the 401.
    static let curlAskedFirst = "curl --anyauth, 401 first"
    /// The baseline to which a token adds.
    static let unauthenticated = "AsyncHTTPClient, no authentication"
    static let preemptive = "ours, preemptive"
    static let libcurl = "libcurl, one handle"
    static let libcurlUnauthenticated = "libcurl, no authentication"

    static func all(_ site: Site, peers: Result<PythonPeers, Unavailable>) -> [Row] {
        [
            OwnChild.row(unauthenticated, .anonymous, site, page: "open", tag: "ahc"),
            OwnChild.row("ours, no authentication asked", .asked, site, page: "open", tag: "open"),
            OwnChild.row("ours, 401 first", .asked, site, page: "hello", tag: "ours401"),
            OwnChild.row(preemptive, .unasked, site, page: "hello", tag: "ours"),
        ] + Curl.rows(site) + LibcurlChild.rows(site) + PythonPeers.rows(site, peers)
    }
}
