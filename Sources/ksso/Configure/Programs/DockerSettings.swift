internal import CommandSupport
internal import Foundation

/// The proxy of docker: of root's daemon, which pulls images, and of the containers that a user starts and builds.
struct DockerSettings: ProgramSettings {
    let context: SettingsContext

    let name = "docker"
    let word = "docker"

    private var client: ProxyClient { ProxyClient(context: context) }

    func files() -> [any SettingsFile] { [context.isMachine ? daemonFile : clientFile] }

    /// Root may have configured its own account too.
    func formerFiles() -> [any SettingsFile] { files() }

    private var daemonFile: MarkedFile {
        let variables = [("HTTP_PROXY", client.url), ("HTTPS_PROXY", client.url), ("NO_PROXY", client.exceptionList)]
        return MarkedFile(
            path: "/etc/systemd/system/docker.service.d/60-ksso-proxy.conf",
            lines: "[Service]\n" + variables.map { "Environment=\"\($0.0)=\($0.1.replacing("%", with: "%%"))\"\n" }.joined(),
            marks: context.marks(word),
            isOursAlone: true,
            mode: AtomicFile.machineMode
        )
    }

    private var clientFile: JSONSettingsFile {
        let folder = context.environment["DOCKER_CONFIG"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? "\(context.home)/.docker"
        let values = [("httpProxy", client.url), ("httpsProxy", client.url), ("noProxy", client.exceptionList)]
        return JSONSettingsFile(
            path: "\(folder)/config.json",
            settings: values.map { .init(path: ["proxies", "default", $0.0], content: .value(.string($0.1))) },
            record: context.record,
            mode: nil
        )
    }

    var notes: [String] {
        if context.isMachine { return [client.note, client.note(of: "dockerd", connectingAs: "root")] }
        return [
            client.note,
            "\(context.proxy) is the loopback address of each container: only containers with --network host reach the proxy there, "
                + "and as root only one that runs with: ksso proxy run --admit root",
            "Images are pulled by the daemon, which has settings of its own: sudo ksso configure docker --install",
        ]
    }

    var afterward: String? {
        context.isMachine ? "Restart the daemon, which also stops the containers: systemctl daemon-reload && systemctl restart docker" : nil
    }
}
