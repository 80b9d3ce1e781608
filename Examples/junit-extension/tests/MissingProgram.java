import java.nio.file.Path;
import ksso.junit.KerberosRealm;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Fails with a message. The name does not end in Test, so that only the check selects it. */
class MissingProgram {
    @RegisterExtension
    static final KerberosRealm realm = KerberosRealm.with().program(Path.of("/nonexistent/ksso"));

    @Test
    void isNotRun() {}
}
