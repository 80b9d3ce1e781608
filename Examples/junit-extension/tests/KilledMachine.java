import ksso.junit.KerberosRealm;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Stops the JVM without any cleanup. */
class KilledMachine {
    @RegisterExtension
    static final KerberosRealm realm = KerberosRealm.with().user("alice", "secret").web();

    @Test
    void halts() {
        realm.signIn("alice");
        Runtime.getRuntime().halt(9);
    }
}
